/* forget.h - deletes deliveries that are old, more than are kept of a webhook, or of a removed
 * one, in small steps.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include <stdint.h>

struct db;
struct writer;

/* Of the courier's thread, but for `asked`. */
struct forgetting {
    int64_t old_us;     /* monotonic: when nothing old was left */
    int64_t round_us;   /* monotonic: when the last round over all webhooks began */
    _Atomic bool asked; /* any thread: a round begins although it is not time for one */
    bool in_round;
    bool failed, told; /* in this round; that is in the log */
    int64_t tenant_id; /* the webhook that was looked at last */
    char webhook_id[64];
};

void forgetting_init(struct forgetting *f, int64_t now_us);

/* A step of either, if it is time for one. Reads with `db`. What fails is logged, and tried again
 * in the next round. */
void forgetting_step(struct forgetting *f, struct db *db, struct writer *writer);
