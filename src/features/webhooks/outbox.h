/* outbox.h - messages to a tenant's webhooks, stored with what they tell of.
 *
 * A message and its delivery to each webhook that wants it are rows written in
 * the transaction of the change that it tells of: both are stored, or neither.
 * The courier delivers them afterwards.
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

/* Within a transaction. Without a webhook that wants the type nothing is stored. */
int outbox_add(struct db *db, const struct outbox_message *message, struct error *err) MUST_CHECK;
