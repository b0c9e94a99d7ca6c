/* stuck.h - opens an alert for each run that stays open too long.
 *
 * A run is stuck when it has been open for 24 hours, or for five times the
 * median duration of its agent's last runs if that is longer. Once a minute it
 * reads the runs that became 24 hours old since the last scan, in the order of
 * their start; runs that may take longer are read again when they are due. At
 * most twenty such alerts are open per agent.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct db;
struct stuck;
struct writer;

/* Borrows both: `db` is a reader, used by each tick only. */
struct stuck *stuck_new(struct db *db, struct writer *writer, int64_t wall_us, int64_t mono_us);

/* After the writer has stopped. NULL is fine. */
void stuck_free(struct stuck *s);

/* Once a second, while the database answers. `epoch_us` is silence_epoch_us(): alerts open only
 * some minutes after it, so that delayed events can close their runs first. */
int stuck_tick(struct stuck *s, int64_t wall_us, int64_t mono_us, int64_t epoch_us,
               struct error *err) MUST_CHECK;
