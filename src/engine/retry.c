/* retry.c - the pause before a transaction is tried again. */
#include "engine/retry.h"

#include <stdint.h>
#include <time.h>

#include "base/clock.h"

enum { RETRY_US = 20000 };

void retry_pause(unsigned attempt)
{
    struct timespec pause = { 0 };
    const uint64_t mixed = ((uint64_t)clock_raw_us() ^ (uint64_t)(uintptr_t)&pause) *
                           0x9e3779b97f4a7c15U; /* it need not be hard to guess */

    pause.tv_nsec = (long)((mixed >> 33) % ((uint64_t)attempt * RETRY_US)) * 1000;
    (void)nanosleep(&pause, NULL);
}
