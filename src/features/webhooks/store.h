/* store.h - webhooks, and messages and their deliveries, as rows.
 *
 * A delivery is due once its next_at has passed. A claim moves next_at forward, so that no other
 * process claims it meanwhile and it becomes due again if the claimer dies.
 */
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

struct message_row {
    int64_t tenant_id;
    struct str message_id, type;
    int64_t created_at;
    struct str data; /* a JSON object */
};

/* A webhook with deliveries due, or to delete. */
struct due_webhook {
    int64_t tenant_id;
    struct str webhook_id;
    int64_t deliveries; /* how many; 0 when they were not counted */
    bool removed;       /* only delivery_store_webhooks_after() finds such ones */
};

struct delivery_row {
    int64_t tenant_id;
    struct str delivery_id, webhook_id;
    struct message_row message;
    int64_t created_at;
    int state; /* enum delivery_state */
    int64_t attempts;
    int64_t next_at, last_at; /* TIME_NULL */
    struct opt_int last_status, last_ms;
    struct str last_error; /* STR_NULL */
};

struct delivery_filter {
    int64_t tenant_id;
    struct str webhook_id;
    struct str before; /* a delivery_id; STR_NULL: start at the newest */
    int state;         /* -1: any */
    int64_t limit;
};

/* Adds messages of one tenant whose deliveries are pending. The arena is scratch space. */
int delivery_store_messages_add(struct db *db, const struct message_row *rows, size_t n,
                                struct arena *arena, struct error *err) MUST_CHECK;

/* The first tenant after the id `after` that has pending messages; 0: none. */
int delivery_store_messages_next_tenant(struct db *db, int64_t after, int64_t *ret,
                                        struct error *err) MUST_CHECK;

/* The oldest pending messages of the tenant, without their data: a list of struct message_row; in
 * the arena. PostgreSQL locks them until the transaction ends, and skips locked ones. */
int delivery_store_messages_pending(struct db *db, int64_t tenant_id, int64_t limit,
                                    struct arena *arena, struct list *ret,
                                    struct error *err) MUST_CHECK;
int delivery_store_message_end_pending(struct db *db, const struct message_row *row,
                                       struct error *err) MUST_CHECK;

/* Adds deliveries of one tenant, due at their next_at. The arena is scratch space. */
int delivery_store_add(struct db *db, const struct delivery_row *rows, size_t n,
                       struct arena *arena, struct error *err) MUST_CHECK;

/* How many deliveries of the tenant wait for an attempt, counted up to `most`. */
int delivery_store_waiting(struct db *db, int64_t tenant_id, int64_t most, int64_t *ret,
                           struct error *err) MUST_CHECK;

/* At most DUE_MAX webhooks, each once, the longest overdue first: a list of struct due_webhook; in
 * the arena. Deliveries that are due later are not read. */
enum { DUE_MAX = 10000 };
int delivery_store_due(struct db *db, int64_t now, struct arena *arena, struct list *ret,
                       struct error *err) MUST_CHECK;

/* Makes deliveries due that were planned before the clock was set back; otherwise they would wait
 * as long as the clock was ahead. Reads all waiting deliveries. */
int delivery_store_release(struct db *db, int64_t now, struct error *err) MUST_CHECK;

/* How long a claim lasts: longer than an attempt may take. */
enum { DELIVERY_LEASE_S = 60 };

struct delivery_claim {
    int64_t tenant_id;
    struct str webhook_id;
    int64_t n; /* at most */
    int64_t now;
};

/* Claims deliveries of a webhook, the longest overdue, and counts an attempt of each: they are due
 * again at next_at unless a result is stored before. *ret: their ids, a list of struct str in the
 * arena. */
int delivery_store_claim(struct db *db, const struct delivery_claim *claim, struct arena *arena,
                         struct list *ret, struct error *err) MUST_CHECK;

/* With its message; in the arena. tenant_id is 0 when there is no such delivery. */
int delivery_store_get(struct db *db, int64_t tenant_id, struct str delivery_id,
                       struct arena *arena, struct delivery_row *ret, struct error *err) MUST_CHECK;

/* Stores the result of an attempt whose claim ended at `again_at`: state, next_at and last_…,
 * unless the claim was lost (the webhook was disabled, or another process claimed the delivery). A
 * success is always stored. */
int delivery_store_set(struct db *db, const struct delivery_row *row, int64_t again_at,
                       struct error *err) MUST_CHECK;

/* Makes the delivery due now, whatever its state. ERR_NOT_FOUND. */
int delivery_store_retry(struct db *db, const struct delivery_filter *which, struct str delivery_id,
                         int64_t now, struct error *err) MUST_CHECK;

/* Newest first: a list of struct delivery; in the arena. */
int delivery_store_list(struct db *db, const struct delivery_filter *filter, struct arena *arena,
                        struct list *ret, struct error *err) MUST_CHECK;

/* Tests look at their plans. */
extern const struct db_query forget_deliveries_query, forget_messages_query;

/* Deletes up to a thousand finished deliveries created before `before`, and their messages;
 * *ret_more when there may be others. */
int delivery_store_forget(struct db *db, int64_t before, bool *ret_more,
                          struct error *err) MUST_CHECK;

/* Deliveries kept of a webhook: the newest ones, and those that wait. */
enum { DELIVERIES_KEPT = 1000 };

/* The next webhooks of all tenants, removed ones too, in order of tenant_id and webhook_id: a list
 * of struct due_webhook; in the arena. */
int delivery_store_webhooks_after(struct db *db, const struct due_webhook *after, int64_t limit,
                                  struct arena *arena, struct list *ret,
                                  struct error *err) MUST_CHECK;

/* The id of the last of them that is kept; STR_NULL: there are not as many. In the arena. */
int delivery_store_oldest_kept(struct db *db, const struct due_webhook *webhook,
                               struct arena *arena, struct str *ret, struct error *err) MUST_CHECK;

struct delivery_trim {
    int64_t tenant_id;
    struct str webhook_id;
    struct str before; /* the finished ones with a smaller id; STR_NULL: all, waiting ones too */
};

/* Deletes up to 500 deliveries of a webhook, oldest first, and messages that have no others;
 * *ret_more when there may be more of them. */
int delivery_store_trim(struct db *db, const struct delivery_trim *trim, bool *ret_more,
                        struct error *err) MUST_CHECK;
