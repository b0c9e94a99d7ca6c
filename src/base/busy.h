/* busy.h - a job that never runs twice at once; callers skip it instead of waiting.
 *
 *     if (!busy_begin(&m->busy))
 *         return 0; (the last one is still under way)
 *     …
 *     busy_end(&m->busy); (on any thread)
 *
 * What the job wrote before busy_end() is seen after the next busy_begin().
 *
 * Thread-safe.
 */
#pragma once
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Zeroes: not busy. */
struct busy {
    atomic_bool taken;
};

/* False when it is busy already. */
static inline bool busy_begin(struct busy *b)
{
    return !atomic_exchange(&b->taken, true);
}

static inline void busy_end(struct busy *b)
{
    bool taken = atomic_exchange(&b->taken, false);

    assert(taken);
    (void)taken;
}
