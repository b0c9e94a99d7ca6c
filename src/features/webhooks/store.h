/* store.h - webhooks as rows. */
#pragma once
#include "base/err.h"
#include "features/vault/vault.h"
#include "shape/shape.h"

struct webhook;

/* Both secrets of a webhook. */
#define WEBHOOK_KIND "webhook" /* of their label */
enum { WEBHOOK_SEALED_N = 2 };
extern const struct sealed_table webhooks_sealed[WEBHOOK_SEALED_N];

struct webhook_row {
    int64_t tenant_id;
    struct str webhook_id, url;
    struct str workspace; /* its tenant's slug; only webhook_store_get() reads it */
    int format;           /* enum webhook_format */
    struct str types;     /* separated by commas; empty: all */
    struct str label;
    bool enabled;
    int64_t created_at;
    struct str secret;     /* sealed */
    struct str old_secret; /* sealed, or STR_NULL */
    int64_t old_until;     /* TIME_NULL */
};

/* Counts the deliveries of a webhook by state; tests look at its plan. */
extern const struct db_query webhook_use_query;

int webhook_store_add(struct db *db, const struct webhook_row *row, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND: it was removed meanwhile. */
int webhook_store_set(struct db *db, const struct webhook_row *row, struct error *err) MUST_CHECK;

/* In the arena. ERR_NOT_FOUND. */
int webhook_store_get(struct db *db, int64_t tenant_id, struct str webhook_id, struct arena *arena,
                      struct webhook_row *ret, struct error *err) MUST_CHECK;

/* Does an enabled webhook of the tenant subscribe to this type of message? */
int webhook_store_subscribed(struct db *db, int64_t tenant_id, struct str type, bool *ret,
                             struct error *err) MUST_CHECK;

/* A tenant's webhooks, oldest first: a list of struct webhook_row; in the arena. */
int webhook_store_list(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                       struct error *err) MUST_CHECK;

/* One that exists, and all of a tenant, as answers without their secrets; in the arena. */
int webhook_store_answer(struct db *db, int64_t tenant_id, struct str webhook_id,
                         struct arena *arena, struct webhook *ret, struct error *err) MUST_CHECK;
int webhook_store_answers(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                          struct error *err) MUST_CHECK;

/* Nothing is sent to it any more, and nothing but delivery_store_webhooks_after() finds it.
 * ERR_NOT_FOUND.
 */
int webhook_store_mark_removed(struct db *db, int64_t tenant_id, struct str webhook_id,
                               struct error *err) MUST_CHECK;

/* Once its deliveries are gone. */
int webhook_store_delete(struct db *db, int64_t tenant_id, struct str webhook_id,
                         struct error *err) MUST_CHECK;

/* Disables the webhook and gives up its waiting deliveries. */
int webhook_store_disable(struct db *db, int64_t tenant_id, struct str webhook_id,
                          struct error *err) MUST_CHECK;
