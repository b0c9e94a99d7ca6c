/* deliveries_store.h - messages and their deliveries as rows.
 *
 * A delivery is due when its next_at is in the past. A claim moves next_at to the end of a lease,
 * so that no other process claims it meanwhile and it is due again if the claimer dies.
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

/* A webhook with a due delivery. */
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
    struct str before; /* a delivery_id; STR_NULL: from the newest */
    int state;         /* -1: any */
    int64_t limit;
};

int store_message_add(struct db *db, const struct message_row *row, struct error *err) MUST_CHECK;

/* Due at row->next_at. */
int store_delivery_add(struct db *db, const struct delivery_row *row, struct error *err) MUST_CHECK;

/* At most DUE_MAX webhooks with due deliveries, each once, longest overdue first; in the arena.
 * Deliveries scheduled for later cost nothing. */
enum { DUE_MAX = 10000 };
int store_deliveries_due(struct db *db, int64_t now, struct arena *arena, struct due_webhook **ret,
                         size_t *ret_n, struct error *err) MUST_CHECK;

/* Makes deliveries due now that were scheduled by a clock which has since been set back: otherwise
 * they would wait for as long as the clock was ahead. Reads all waiting deliveries. */
int store_deliveries_release(struct db *db, int64_t now, struct error *err) MUST_CHECK;

/* How long a claim lasts; longer than an attempt may take. */
enum { DELIVERY_LEASE_S = 60 };

/* Claims the webhook's longest overdue delivery and counts one attempt; in the arena. It is due
 * again at its next_at unless a result is stored before. If none is due, ret->delivery_id is
 * STR_NULL. */
int store_delivery_claim(struct db *db, const struct due_webhook *webhook, int64_t now,
                         struct arena *arena, struct delivery_row *ret,
                         struct error *err) MUST_CHECK;

/* Stores the result of an attempt whose claim set next_at to `again_at`: state, next_at and last_…,
 * unless the claim was superseded (the webhook was disabled, the delivery claimed again). A
 * successful delivery is always stored. */
int store_delivery_set(struct db *db, const struct delivery_row *row, int64_t again_at,
                       struct error *err) MUST_CHECK;

/* Makes it due at once, whatever its state. ERR_NOT_FOUND. */
int store_delivery_retry(struct db *db, const struct delivery_filter *which, struct str delivery_id,
                         int64_t now, struct error *err) MUST_CHECK;

/* Newest first; in the arena. */
int store_deliveries(struct db *db, const struct delivery_filter *filter, struct arena *arena,
                     struct delivery_row **ret, size_t *ret_n, struct error *err) MUST_CHECK;

/* Deletes finished deliveries created before `before`, and messages without deliveries: at most
 * 1,000 of each per call. *ret_more: call again. */
int store_deliveries_forget(struct db *db, int64_t before, bool *ret_more,
                            struct error *err) MUST_CHECK;
