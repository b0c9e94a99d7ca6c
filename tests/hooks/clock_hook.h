/* clock_hook.h - moves the clocks of the program it is linked into: base/clock.h adds the shifts.
 *
 * Thread-safe but for clock_follow().
 */
#pragma once
#include "base/clock.h"

/* Adds to both clocks: time passes without waiting. */
void clock_advance_us(int64_t us);

/* Adds to the wall clock alone: the administrator sets it. */
void clock_step_wall_us(int64_t us);

/* Reads both shifts from a file of two 64-bit numbers, `passed_us` and `stepped_us`, as it changes.
 * Before there are threads. */
int clock_follow(const char *path, struct error *err) MUST_CHECK;
