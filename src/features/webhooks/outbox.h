/* outbox.h - messages to a tenant's webhooks, stored together with the change they report.
 *
 * A message is a row written in the transaction of the change it reports: both
 * are stored, or neither. The courier then adds its delivery to each subscribed
 * webhook, in steps of bounded cost, and delivers them.
 */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;

struct outbox_message {
    int64_t tenant_id;
    struct str type; /* one of message_types (features/webhooks/shapes.h) */
    struct str data; /* a JSON object, at most OUTBOX_DATA_MAX bytes */
    int64_t at;      /* when it happened */
};

enum { OUTBOX_DATA_MAX = 16 << 10 };

/* Within a transaction: messages of one tenant and type. Stores nothing if no enabled webhook
 * subscribes to the type. */
int outbox_add(struct db *db, const struct outbox_message *messages, size_t n,
               struct error *err) MUST_CHECK;

/* Within a transaction: adds the deliveries of the tenant's oldest pending messages, a bounded
 * number of them. When DELIVERIES_WAITING_MAX wait for an attempt already, a message's deliveries
 * are not made: its alert is in the list of alerts. */
enum { DELIVERIES_WAITING_MAX = 10000 };
int outbox_fan_out(struct db *db, int64_t tenant_id, struct error *err) MUST_CHECK;
