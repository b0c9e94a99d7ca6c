/* clock.c - the two clocks, with the shift that tests give them. */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static atomic_llong wall_shift_us, mono_shift_us;

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME) + atomic_load_explicit(&wall_shift_us, memory_order_relaxed);
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_BOOTTIME) + atomic_load_explicit(&mono_shift_us, memory_order_relaxed);
}

void clock_advance_us(int64_t us)
{
    atomic_fetch_add(&wall_shift_us, us);
    atomic_fetch_add(&mono_shift_us, us);
}

void clock_step_wall_us(int64_t us)
{
    atomic_fetch_add(&wall_shift_us, us);
}
