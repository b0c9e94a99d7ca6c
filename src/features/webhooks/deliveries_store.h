/* deliveries_store.h - messages and their deliveries as rows.
 *
 * A delivery is due when its next_at has come. Whoever claims it moves next_at on, so that nobody
 * else takes it meanwhile and that it is due again when the claimer dies.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

struct message_row {
    int64_t tenant_id;
    struct str message_id, type;
    int64_t created_at;
    struct str data; /* a JSON object */
};

/* A webhook that something is due for. */
struct due_webhook {
    int64_t tenant_id;
    struct str webhook_id;
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
    struct str before; /* a delivery_id; STR_NULL: from the newest on */
    int state;         /* -1: any */
    int64_t limit;
};

int store_message_add(struct db *db, const struct message_row *row, struct error *err) MUST_CHECK;

/* Makes it, due at row->next_at. */
int store_delivery_add(struct db *db, const struct delivery_row *row, struct error *err) MUST_CHECK;

/* At most DUE_MAX webhooks, each once, that for which something is due longest first; in the arena.
 * What waits for later costs nothing. */
enum { DUE_MAX = 10000 };
int store_deliveries_due(struct db *db, int64_t now, struct arena *arena, struct due_webhook **ret,
                         size_t *ret_n, struct error *err) MUST_CHECK;

/* What was planned by a clock that has been set back since is due now, else it would wait for as
 * long as the clock was ahead. Reads all that waits. */
int store_deliveries_release(struct db *db, int64_t now, struct error *err) MUST_CHECK;

/* How long it is the claimer's; longer than an attempt may take. */
enum { DELIVERY_LEASE_S = 60 };

/* The webhook's delivery that is due longest, with one attempt more; in the arena. It is due again
 * at its next_at, unless something is stored before. Without one its delivery_id is STR_NULL. */
int store_delivery_claim(struct db *db, const struct due_webhook *webhook, int64_t now,
                         struct arena *arena, struct delivery_row *ret,
                         struct error *err) MUST_CHECK;

/* What came of an attempt that was due again at `again_at`: state, next_at and last_… are stored,
 * unless the claim is no longer the last word (the webhook was switched off, it was claimed anew).
 * That it was delivered is always stored. */
int store_delivery_set(struct db *db, const struct delivery_row *row, int64_t again_at,
                       struct error *err) MUST_CHECK;

/* Due at once, whatever became of it before. ERR_NOT_FOUND. */
int store_delivery_retry(struct db *db, const struct delivery_filter *which, struct str delivery_id,
                         int64_t now, struct error *err) MUST_CHECK;

/* Newest first; in the arena. */
int store_deliveries(struct db *db, const struct delivery_filter *filter, struct arena *arena,
                     struct delivery_row **ret, size_t *ret_n, struct error *err) MUST_CHECK;

/* Removes finished ones made before, and their messages; a thousand at once, when *ret_more. */
int store_deliveries_forget(struct db *db, int64_t before, bool *ret_more,
                            struct error *err) MUST_CHECK;
