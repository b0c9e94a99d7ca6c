/* job_cost.h - what a kind of job costs the writer, learned from its commits.
 *
 * Each kind of job has one static struct job_cost, beside the code that applies
 * it. The cost is per unit: an event, or a row that the job writes. It starts as
 * a guess and follows the durations of the groups that such jobs were in.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/base.h"

struct job_cost {
    _Atomic double unit_us; /* moving average; at first a guess */
    atomic_bool measured;   /* a large group has replaced the guess */
};

#define JOB_COST(guess_us) { .unit_us = (guess_us) }

/* Expected microseconds of a job; at least 1. */
int64_t job_cost_us(const struct job_cost *c, size_t units);

/* A group took `ratio` times as long as expected, and jobs of this kind were `share` (0 to 1) of
 * what was expected. `large`: the group had enough units for its time to say what one costs. */
void job_cost_learn(struct job_cost *c, double share, double ratio, bool large);
