/* clock_hook.c - shifts of this process. */
#include "hooks/clock_hook.h"

static struct clock_shifts own_shifts;

void clock_advance_us(int64_t us)
{
    atomic_fetch_add(&clock_shifts->passed_us, us);
}

void clock_advance_raw_us(int64_t us)
{
    atomic_fetch_add(&clock_raw_shift_us, us);
}

void clock_step_wall_us(int64_t us)
{
    atomic_fetch_add(&clock_shifts->stepped_us, us);
}

__attribute__((constructor)) static void hook_clock(void)
{
    clock_shifts = &own_shifts;
}
