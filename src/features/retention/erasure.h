/* erasure.h - erases tenants that were deleted, in steps.
 *
 * A tenant is first marked as deleted (access/tenants.h): from then on all of
 * its requests are refused. Its rows are then deleted in writer transactions of
 * a few milliseconds, limited to a share of each second, and its own row last,
 * in a transaction that finds nothing else. The mark is in the database, so a
 * crash or a restart only delays the rest.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct erasure;
struct event_log;
struct writer;

struct erasure_options {
    struct db *db;         /* a reader, borrowed during each tick only */
    struct writer *writer; /* borrowed, as is the next */
    struct event_log *log;
    bool shared; /* other processes may still accept reports for a moment */
};

struct erasure *erasure_new(const struct erasure_options *options);

/* After the writer has stopped. NULL is fine. */
void erasure_free(struct erasure *e);

/* Called once per second, while the database is available. */
int erasure_tick(struct erasure *e, int64_t wall_us, struct error *err) MUST_CHECK;
