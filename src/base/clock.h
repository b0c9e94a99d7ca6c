/* clock.h - the two clocks: wall time to show and store, monotonic time to decide by.
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

/* Both, one right after the other, and with what tests add as of one moment: else a test that lets
 * time pass meanwhile would look like somebody who sets the clock. */
struct clock_times {
    int64_t wall_us, mono_us;
};
struct clock_times clock_times(void);

/* The monotonic one without what tests add: have we been stopped? */
int64_t clock_raw_us(void);

/* Adds to both clocks, for tests: time passes without waiting. */
void clock_advance_us(int64_t us);

/* Adds to the wall clock alone, for tests: somebody set the clock. */
void clock_step_wall_us(int64_t us);

/* Takes both shifts, in microseconds, from a file of two 64-bit numbers (of both clocks, of the
 * wall clock alone) as it changes, for tests of the whole program. Before there are threads. */
int clock_follow(const char *path, struct error *err) MUST_CHECK;

/* Does a test move the clocks? What looks at them now and then should look more often. */
bool clock_is_followed(void);
