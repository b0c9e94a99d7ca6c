/* forget.h - deletes deliveries that are old, or more than are kept of a webhook, in small steps.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct writer;

/* Of the courier's thread. */
struct forgetting {
    int64_t old_us;   /* monotonic: when nothing old was left */
    int64_t round_us; /* monotonic: when the last round over all webhooks began */
    bool in_round;
    int64_t tenant_id; /* the webhook that was looked at last */
    char webhook_id[64];
};

void forgetting_init(struct forgetting *f, int64_t now_us);

/* A step of either, if it is time for one. Reads with `db`. */
int forgetting_step(struct forgetting *f, struct db *db, struct writer *writer,
                    struct error *err) MUST_CHECK;
