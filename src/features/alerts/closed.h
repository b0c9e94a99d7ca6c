/* closed.h - deletes the oldest closed alerts of tenants that have very many.
 *
 * Open alerts are bounded by what they are about. Closed ones are bounded here:
 * of each tenant the newest stay. Every ten minutes a round visits the tenants,
 * some per tick; what is one too many is deleted in steps, writer transactions
 * of a few milliseconds, one a second. Several processes may do so at once.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct closed_alerts;
struct db;
struct writer;

enum { CLOSED_ALERTS_MAX = 100000 }; /* of a tenant */

struct closed_alerts_options {
    struct db *db;         /* a reader, borrowed for each tick only */
    struct writer *writer; /* borrowed */
    int64_t keep;          /* closed alerts of a tenant */
};

/* The first tick begins a round. */
struct closed_alerts *closed_alerts_new(const struct closed_alerts_options *options,
                                        int64_t mono_us);

/* After the writer has stopped. NULL is fine. */
void closed_alerts_free(struct closed_alerts *c);

/* Once a second, while the database answers. */
int closed_alerts_tick(struct closed_alerts *c, int64_t mono_us, struct error *err) MUST_CHECK;
