/* test_clock.c - time that tests can move. */
#include "hooks/clock_hook.h"

#include <time.h>

#include "test.h"

enum { SLACK_US = 5 * USEC_PER_SEC }; /* a busy machine may stop us between two readings */

static bool about(int64_t a, int64_t b)
{
    return a - b < SLACK_US && b - a < SLACK_US;
}

TEST(the_wall_clock_is_the_systems)
{
    CHECK(about(clock_wall_us(), (int64_t)time(NULL) * USEC_PER_SEC));
}

TEST(the_monotonic_clock_never_goes_back)
{
    int64_t before = clock_mono_us();

    for (int i = 0; i < 10000; i++) {
        int64_t now = clock_mono_us();

        CHECK(now >= before);
        before = now;
    }
}

TEST(advancing_moves_both_clocks_alike)
{
    int64_t wall = clock_wall_us(), mono = clock_mono_us(), hour = 3600LL * USEC_PER_SEC;

    clock_advance_us(hour);
    CHECK(about(clock_wall_us(), wall + hour));
    CHECK(about(clock_mono_us(), mono + hour));
}

TEST(stepping_the_wall_clock_leaves_the_monotonic_one_alone)
{
    int64_t wall = clock_wall_us(), mono = clock_mono_us(), day = 86400LL * USEC_PER_SEC;

    clock_step_wall_us(-day);
    CHECK(about(clock_wall_us(), wall - day));
    CHECK(about(clock_mono_us(), mono));
    clock_step_wall_us(day);
    CHECK(about(clock_wall_us(), wall));
}

TEST(both_clocks_of_one_moment_are_as_far_apart_as_ever)
{
    const struct clock_times before = clock_times();
    struct clock_times now;

    clock_advance_us(86400LL * USEC_PER_SEC);
    now = clock_times();
    CHECK(about(now.mono_us, before.mono_us + 86400LL * USEC_PER_SEC));
    CHECK(about(now.wall_us - now.mono_us, before.wall_us - before.mono_us));
}
