/* clock.h - the two clocks: wall time to show and store, monotonic time to decide by.
 *
 * All times that our code stores or decides by are read here (a gate checks), so a test can move
 * both clocks. Timers of libuv, waits on conditions, libcurl and OpenSSL read the kernel's clocks
 * by themselves, and the databases have clocks of their own: engine/watcher.h.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/err.h"

enum { USEC_PER_MSEC = 1000, USEC_PER_SEC = 1000000 };

/* Microseconds since 1970, UTC. Steps when the administrator sets the clock. Where several machines
 * share a database it is the database's clock, so that they agree (engine/watcher.h). */
int64_t clock_wall_us(void);

/* The clock of this machine, and what is added to it for the one above. */
int64_t clock_machine_us(void);
void clock_set_offset_us(int64_t us);
int64_t clock_offset_us(void);

/* Microseconds since some moment before the process began; never steps, goes on in suspend. */
int64_t clock_mono_us(void);

/* Both, one right after the other, under the same test shift: a shift in between would look like a
 * wall clock that was set. */
struct clock_times {
    int64_t wall_us, mono_us;
};
struct clock_times clock_times(void);

/* The monotonic clock without those shifts: how long work really took. */
int64_t clock_raw_us(void);

/* Until when a wait lasts that begins now, by a clock of the system, which no test moves. */
struct timespec clock_deadline(clockid_t id, int64_t wait_us);

/* What a test adds, in microseconds. Each number is written whole, by this or another process. */
struct clock_shifts {
    _Atomic int64_t passed_us;  /* to both clocks: time passes without waiting */
    _Atomic int64_t stepped_us; /* to the wall clock alone: the administrator sets it */
};

/* NULL but in tests, which set it before there are threads: tests/hooks/clock_hook.c in programs of
 * their own, clock_preload.c in ours. */
extern struct clock_shifts *clock_shifts;

/* How far a test lets this machine's clock be off. Set as above. */
extern int64_t clock_skew_us;

/* What a test adds to the raw clock: work that is under way takes longer. 0 otherwise. */
extern _Atomic int64_t clock_raw_shift_us;

/* Does a test move the clocks? Then periodic work looks at them more often. */
bool clock_is_followed(void);
