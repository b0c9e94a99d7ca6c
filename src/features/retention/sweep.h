/* sweep.h - deletes rows past their tenant's retention limits, and the rows of deleted tenants.
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
#include <stdint.h>

#include "base/err.h"

struct db;
struct erasure;
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

/* How much of a second deleting may take. Beside incoming reports it deletes about as fast as they
 * arrive, within a small share of a writer's time. A pass that is not done when the next one is due
 * is behind: it and the next ones may take several times as much, until one is done in half the
 * period, but not more rows while reports wait for a writer. For tests. */
enum { SWEEP_PERIOD_S = 60 }; /* between the starts of two passes */

struct sweep_pace {
    bool behind;
    bool several;              /* writers, so that others go on meanwhile */
    int64_t spent_us, rows;    /* of this second */
    uint64_t arrived, waiting; /* bytes of reports: of the last seconds, and not stored yet */
};

bool sweep_pace_may_continue(const struct sweep_pace *p);

/* Erases tenants that were deleted, in steps. A tenant is first marked as deleted
 * (access/tenants.h): from then on all of its requests are refused. Its rows are then deleted in
 * writer transactions of a few milliseconds, limited to a share of each second, and its own row
 * last, in a transaction that finds nothing else. The mark is in the database, so a crash or a
 * restart only delays the rest. One thread at a time. */
struct erasure *erasure_new(const struct sweep_options *options);

/* After the writer has stopped. NULL is fine. */
void erasure_free(struct erasure *e);

/* Called once per second, while the database is available. */
int erasure_tick(struct erasure *e, int64_t wall_us, struct error *err) MUST_CHECK;
