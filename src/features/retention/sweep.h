/* sweep.h - deletes what is older than its tenant wants it to be.
 *
 * Once a minute a pass goes through the tenants that have limits. It is made
 * of steps: transactions of the writer of a few milliseconds, with the writer's
 * other work between them, and of all together a share of each second only, so
 * that reports do not wait. What a pass remembers is only how far it is: a
 * crash or a restart begins the next one, and finds what is left to do by the
 * same indexes. Several processes on one database take turns by tenant.
 *
 * Time is the earlier of the wall clock and what it would be had nobody set it
 * since the start: a clock that is set ahead deletes nothing.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct db;
struct event_log;
struct sweep;
struct writer;

struct sweep_options {
    struct db *db;         /* a reader, borrowed for each tick only */
    struct writer *writer; /* borrowed, as is the next */
    struct event_log *log;
};

struct sweep *sweep_new(const struct sweep_options *options, int64_t wall_us, int64_t mono_us);

/* After the writer has stopped. NULL is fine. */
void sweep_free(struct sweep *s);

/* Once a second, while the database answers. */
int sweep_tick(struct sweep *s, int64_t wall_us, int64_t mono_us, struct error *err) MUST_CHECK;
