/* clock.h - the two clocks: wall time to show and store, monotonic time for decisions.
 *
 * Tests set both; nothing else in the program asks the system for the time.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

enum { USEC_PER_MSEC = 1000, USEC_PER_SEC = 1000000 };

/* Microseconds since 1970, UTC. Steps when the administrator sets the clock. */
int64_t clock_wall_us(void);

/* Microseconds since some moment before the process began; never steps, goes on in suspend. */
int64_t clock_mono_us(void);

/* Both at one moment, with the same shift: else a test that advances the clocks meanwhile would
 * look like an administrator who sets the wall clock. */
struct clock_times {
    int64_t wall_us, mono_us;
};
struct clock_times clock_times(void);

/* The monotonic clock without the shift of tests: was the process suspended? */
int64_t clock_raw_us(void);

/* Adds to both clocks, for tests: time passes without waiting. */
void clock_advance_us(int64_t us);

/* Adds to the wall clock alone, for tests: an administrator set it. */
void clock_step_wall_us(int64_t us);

/* Takes both shifts, in microseconds, from a file of two 64-bit numbers (of both clocks, of the
 * wall clock alone) as it changes, for tests of the whole program. Before there are threads. */
int clock_follow(const char *path, struct error *err) MUST_CHECK;

/* Does a test control the clocks? Then periodic checks should run more often. */
bool clock_is_followed(void);
