/* clock.c - reads the system's clocks and adds a test's shift. */
#include "base/clock.h"

struct clock_shifts *clock_shifts;
int64_t clock_skew_us;
_Atomic int64_t clock_raw_shift_us;

static _Atomic int64_t offset_us;

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static int64_t passed_us(void)
{
    return clock_shifts == NULL
               ? 0
               : atomic_load_explicit(&clock_shifts->passed_us, memory_order_relaxed);
}

static int64_t stepped_us(void)
{
    return clock_shifts == NULL
               ? 0
               : atomic_load_explicit(&clock_shifts->stepped_us, memory_order_relaxed);
}

int64_t clock_machine_us(void)
{
    return read_us(CLOCK_REALTIME) + clock_skew_us;
}

void clock_set_offset_us(int64_t us)
{
    atomic_store_explicit(&offset_us, us, memory_order_relaxed);
}

int64_t clock_offset_us(void)
{
    return atomic_load_explicit(&offset_us, memory_order_relaxed);
}

int64_t clock_wall_us(void)
{
    return clock_machine_us() + clock_offset_us() + passed_us() + stepped_us();
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_BOOTTIME) + passed_us();
}

struct clock_times clock_times(void)
{
    int64_t passed = passed_us();

    return (struct clock_times){ .wall_us =
                                     clock_machine_us() + clock_offset_us() + passed + stepped_us(),
                                 .mono_us = read_us(CLOCK_BOOTTIME) + passed };
}

int64_t clock_raw_us(void)
{
    return read_us(CLOCK_BOOTTIME) +
           atomic_load_explicit(&clock_raw_shift_us, memory_order_relaxed);
}

struct timespec clock_deadline(clockid_t id, int64_t wait_us)
{
    struct timespec at;

    (void)clock_gettime(id, &at);
    wait_us = (wait_us < 0 ? 0 : wait_us) + at.tv_nsec / 1000;
    at.tv_sec += wait_us / USEC_PER_SEC;
    at.tv_nsec = wait_us % USEC_PER_SEC * 1000;
    return at;
}

bool clock_is_followed(void)
{
    return clock_shifts != NULL;
}
