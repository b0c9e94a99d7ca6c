/* test_liveness.c - up, late, silent: at each boundary, and a microsecond before it. */
#include "features/agents/liveness.h"

#include "base/clock.h"
#include "test.h"

#define S(seconds) ((int64_t)(seconds) * USEC_PER_SEC)

static const int64_t seen = 1700000000000000;

static struct liveness agent_of(bool enabled, struct opt_int interval, int64_t last_seen_at)
{
    const struct schedule_row nothing = { .scheduled_at = TIME_NULL };

    return (struct liveness){ .enabled = enabled,
                              .schedule = schedule_of(&interval, &nothing),
                              .last_seen_at = last_seen_at };
}

TEST(an_agent_is_late_after_its_interval_and_silent_after_the_grace)
{
    static const struct {
        int64_t interval, grace; /* seconds */
    } rows[] = {
        { 1, 60 },      { 60, 60 },     { 119, 60 },     { 120, 60 },
        { 122, 61 },    { 300, 150 },   { 3600, 1800 },  { 7198, 3599 },
        { 7200, 3600 }, { 7202, 3600 }, { 86400, 3600 }, { 604800, 3600 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct liveness agent =
            agent_of(true, (struct opt_int){ true, rows[i].interval }, seen);
        int64_t late_at = seen + S(rows[i].interval), silent_at = late_at + S(rows[i].grace);

        CHECK(liveness_of(&agent, seen).state == LIVENESS_UP);
        CHECK(liveness_of(&agent, late_at - 1).state == LIVENESS_UP);
        CHECK(liveness_of(&agent, late_at).state == LIVENESS_LATE);
        CHECK(liveness_of(&agent, silent_at - 1).state == LIVENESS_LATE);
        CHECK(liveness_of(&agent, silent_at).state == LIVENESS_SILENT);
        CHECK_INT(liveness_of(&agent, seen).next_expected_at, late_at);
        CHECK_INT(liveness_of(&agent, seen).silent_at, silent_at);
    }
}

TEST(odd_seconds_are_halved_exactly)
{
    static const int64_t seconds[] = { 121, 7199 };

    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        const struct liveness agent = agent_of(true, (struct opt_int){ true, seconds[i] }, seen);

        CHECK_INT(schedule_grace_us(&agent.schedule, seen), S(seconds[i]) / 2);
    }
}

TEST(nothing_is_expected_of_some_agents)
{
    static const struct {
        bool enabled;
        struct opt_int interval;
        int64_t seen_at;
        enum liveness_state state;
    } rows[] = {
        { true, { false, 0 }, 1, LIVENESS_UNSCHEDULED },
        { true, { true, 0 }, 1, LIVENESS_UNSCHEDULED },
        { true, { true, -5 }, 1, LIVENESS_UNSCHEDULED },
        { true, { true, 60 }, TIME_NULL, LIVENESS_NEVER_REPORTED },
        { false, { true, 60 }, 1, LIVENESS_DISABLED },
        { false, { false, 0 }, TIME_NULL, LIVENESS_DISABLED },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct liveness agent = agent_of(rows[i].enabled, rows[i].interval, rows[i].seen_at);
        const struct liveness_verdict verdict = liveness_of(&agent, seen);

        CHECK(verdict.state == rows[i].state);
        CHECK(verdict.next_expected_at == TIME_NULL && verdict.silent_at == TIME_NULL);
    }
}

TEST(extreme_times_and_intervals_do_not_overflow)
{
    const struct liveness slow = agent_of(true, (struct opt_int){ true, INT64_MAX }, seen);
    const struct liveness ahead = agent_of(true, (struct opt_int){ true, 60 }, seen);

    CHECK(liveness_of(&slow, seen + S(86400)).state == LIVENESS_UP);
    CHECK(liveness_of(&slow, INT64_MAX).state == LIVENESS_SILENT);
    CHECK(liveness_of(&ahead, seen - S(86400)).state == LIVENESS_UP); /* the clock was set back */
}
