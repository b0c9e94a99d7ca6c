/* store.h - webhooks as rows. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;

struct webhook_row {
    int64_t tenant_id;
    struct str webhook_id, url;
    int format;       /* enum webhook_format */
    struct str types; /* separated by commas; empty: all */
    struct str label;
    bool enabled;
    int64_t created_at;
    struct str secret;     /* sealed */
    struct str old_secret; /* sealed, or STR_NULL */
    int64_t old_until;     /* TIME_NULL */
};

/* Counts of its deliveries by state. */
struct webhook_use {
    int64_t waiting, dead;
    int64_t last_delivered_at; /* TIME_NULL */
};

/* Inserts or updates it. */
int store_webhook_put(struct db *db, const struct webhook_row *row, struct error *err) MUST_CHECK;

/* In the arena. ERR_NOT_FOUND. */
int store_webhook(struct db *db, int64_t tenant_id, struct str webhook_id, struct arena *arena,
                  struct webhook_row *ret, struct error *err) MUST_CHECK;

/* A tenant's webhooks, oldest first; in the arena. */
int store_webhooks(struct db *db, int64_t tenant_id, struct arena *arena, struct webhook_row **ret,
                   size_t *ret_n, struct error *err) MUST_CHECK;

int store_webhook_use(struct db *db, int64_t tenant_id, struct str webhook_id,
                      struct webhook_use *ret, struct error *err) MUST_CHECK;

/* Also deletes its deliveries. ERR_NOT_FOUND. */
int store_webhook_remove(struct db *db, int64_t tenant_id, struct str webhook_id,
                         struct error *err) MUST_CHECK;

/* Disables it and cancels its waiting deliveries. */
int store_webhook_disable(struct db *db, int64_t tenant_id, struct str webhook_id,
                          struct error *err) MUST_CHECK;
