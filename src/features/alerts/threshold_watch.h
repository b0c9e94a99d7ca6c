/* threshold_watch.h - watches the KPIs and budgets that tenants have set bounds for.
 *
 * Once a minute each is judged on a reader, as many tenants at a time as a
 * fraction of a second allows; what has changed goes to the writer, which opens
 * and closes alerts if the tenant's rules are still those that were judged by.
 * Nothing is judged for some minutes after we began to listen, or the clock was
 * set: what could not be told to us meanwhile is told then.
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

/* Once a second, while the database answers; does not wait for anything. `epoch_us` is when we
 * began to listen. */
int threshold_watch_tick(struct threshold_watch *b, int64_t wall_us, int64_t mono_us,
                         int64_t epoch_us, struct error *err) MUST_CHECK;
