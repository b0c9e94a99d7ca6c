/* stuck.h - opens an alert for each run that stays open too long.
 *
 * A run is stuck when it has been open for 24 hours, or for five times the
 * median duration of its agent's last runs if that is longer. Once a minute
 * the runs that have reached that age since the last scan are read by their
 * start time, so that each run is read once. At most twenty such alerts are
 * open per agent.
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

/* Once a second, while the database answers. `epoch_us` is silence_epoch_us(): alerts open only
 * some minutes after it, so that delayed events can close their runs first. */
int stuck_tick(struct stuck *s, int64_t wall_us, int64_t mono_us, int64_t epoch_us,
               struct error *err) MUST_CHECK;
