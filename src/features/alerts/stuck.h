/* stuck.h - watches for runs that stay open, and has an alert opened for each.
 *
 * A run is stuck when it is open for 24 hours, or five times the median
 * duration of its agent's last runs if that is more. Once a minute the runs
 * that have become that old since the last look are looked at, by the index of
 * starts, so that each run is looked at once. At most twenty such alerts are
 * open for an agent: one that never closes its runs is told of by them.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct db;
struct stuck;
struct writer;

struct stuck_options {
    struct db *db;         /* a reader, borrowed for each tick only */
    struct writer *writer; /* borrowed */
};

struct stuck *stuck_new(const struct stuck_options *options, int64_t wall_us, int64_t mono_us);

/* After the writer has stopped. NULL is fine. */
void stuck_free(struct stuck *s);

/* Once a second, while the database answers. `epoch_us` is when we began to listen: what our own
 * absence kept from being closed has some time to be. */
int stuck_tick(struct stuck *s, int64_t wall_us, int64_t mono_us, int64_t epoch_us,
               struct error *err) MUST_CHECK;
