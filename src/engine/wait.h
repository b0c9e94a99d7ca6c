/* wait.h - how long those who ask wait, from when they asked (queue_max_wait_ms). By the clock it
 * is a second at least: with less, a connection would be given up whenever the machine is busy. */
#pragma once
#include <stdbool.h>

#include "base/clock.h"

enum {
    WAIT_ANSWER_US = 100000, /* of the time: what it takes to tell the caller, and more */
    WAIT_LEAST_US = 500000,  /* what the database has for a job whose turn came late */
    WAIT_TRY_US = 50000,     /* with less it is not asked: a connection would be given up for it */
};

static inline int64_t wait_by_clock(int64_t max_us)
{
    return max_us > USEC_PER_SEC ? max_us : USEC_PER_SEC;
}

/* Until when, by the raw clock, the database may take its time for one who asked at `since_us`. */
static inline int64_t wait_until(int64_t since_us, int64_t max_us)
{
    return since_us + wait_by_clock(max_us) - WAIT_ANSWER_US;
}

/* Is too little left of the time until then to ask the database? 0: there is no limit. */
static inline bool wait_is_over(int64_t until_us)
{
    return until_us != 0 && until_us - clock_raw_us() < WAIT_TRY_US;
}

/* How long one may wait for a turn. */
static inline int64_t wait_turn_max(int64_t max_us)
{
    return wait_by_clock(max_us) - WAIT_LEAST_US;
}

/* How long one may expect to wait for a turn: beyond it one is refused at once. It is less, since
 * health tells of those who did wait for as long as they may; and what waits for nearly as long
 * would often fail in the database, and others with it. */
static inline int64_t wait_expected_max(int64_t max_us)
{
    return max_us > 2 * (int64_t)USEC_PER_SEC ? max_us - USEC_PER_SEC : max_us / 2;
}
