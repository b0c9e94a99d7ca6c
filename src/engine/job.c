/* job.c - moving averages of the cost per unit. */
#include "engine/job.h"

#include <assert.h>

/* A group may have waited for something else, such as the disk or a lock of another server: it
 * changes the average by at most a factor of about 2 either way. Only the first large one replaces
 * the guess. */
static const double WEIGHT = 0.1, RATIO_MAX = 8.0;

/* Maximum cost per unit: bounds what a clock jump can do to the average. */
static const double UNIT_US_MAX = 1e6;

int64_t job_cost_us(const struct job_cost *c, size_t units)
{
    double us = atomic_load_explicit(&c->unit_us, memory_order_relaxed) * (double)units;

    return us < 1.0 ? 1 : (int64_t)us;
}

/* Two writers may learn at once; one of the two updates may be lost. */
void job_cost_learn(struct job_cost *c, double share, double ratio, bool large)
{
    double old = atomic_load_explicit(&c->unit_us, memory_order_relaxed), weight = WEIGHT;

    assert(share >= 0.0 && ratio >= 0.0);
    if (large && !atomic_exchange_explicit(&c->measured, true, memory_order_relaxed))
        weight = 1.0;
    else if (ratio > RATIO_MAX)
        ratio = RATIO_MAX;
    old *= 1.0 + weight * share * (ratio - 1.0);
    atomic_store_explicit(&c->unit_us, old < UNIT_US_MAX ? old : UNIT_US_MAX, memory_order_relaxed);
}
