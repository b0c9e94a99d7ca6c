/* clock_hook.h - moves the clocks of the program it is linked into: base/clock.h adds the shifts.
 * Thread-safe. */
#pragma once
#include "base/clock.h"

/* Adds to both clocks: time passes without waiting. */
void clock_advance_us(int64_t us);

/* Adds to the raw clock alone: work that is under way takes that much longer. */
void clock_advance_raw_us(int64_t us);

/* Adds to the wall clock alone: the administrator sets it. */
void clock_step_wall_us(int64_t us);
