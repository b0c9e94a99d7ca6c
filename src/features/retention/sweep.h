/* sweep.h - deletes rows past their tenant's retention limits.
 *
 * Once per minute a pass visits the tenants that have limits. It consists of
 * steps: writer transactions of a few milliseconds, with the writer's other
 * work between them, and limited to a share of each second, so that reports
 * are not delayed. A pass keeps only its position, in memory: after a crash or
 * a restart a new pass finds the remaining rows by the same indexes. Several
 * processes on one database take turns by tenant.
 *
 * The time used is the earlier of the wall clock and the start time plus the
 * monotonic clock: setting the wall clock ahead deletes nothing early.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct event_log;
struct sweep;
struct writer;

struct sweep_options {
    struct db *db;         /* a reader, borrowed during each tick only */
    struct writer *writer; /* borrowed, as is the next */
    struct event_log *log;
    bool shared; /* other processes write to the database too: it has several writers */
};

struct sweep *sweep_new(const struct sweep_options *options, int64_t wall_us, int64_t mono_us);

/* After the writer has stopped. NULL is fine. */
void sweep_free(struct sweep *s);

/* Called once per second, while the database is available. */
int sweep_tick(struct sweep *s, int64_t wall_us, int64_t mono_us, struct error *err) MUST_CHECK;
