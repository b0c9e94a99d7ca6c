/* threshold_watch.h - opens and closes alerts of KPI limits and budgets.
 *
 * Once a minute the rules are evaluated on a reader, as many tenants at a time
 * as a fraction of a second allows. Changes go to the writer, which opens and
 * closes alerts if the tenant's rules have not changed since. Nothing is
 * evaluated for some minutes after a start, an outage or a clock step, so that
 * delayed reports can arrive first.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"

struct threshold_watch;
struct prices;
struct readers;
struct writer;

/* Borrowed. */
struct threshold_watch_options {
    struct readers *readers;
    struct writer *writer;
    struct prices *prices;
};

struct threshold_watch *threshold_watch_new(const struct threshold_watch_options *options,
                                            int64_t mono_us);

/* After the readers and the writer have stopped. NULL is fine. */
void threshold_watch_free(struct threshold_watch *b);

/* Once a second, while the database answers; does not block. `epoch_us` is silence_epoch_us(). */
int threshold_watch_tick(struct threshold_watch *b, int64_t wall_us, int64_t mono_us,
                         int64_t epoch_us, struct error *err) MUST_CHECK;
