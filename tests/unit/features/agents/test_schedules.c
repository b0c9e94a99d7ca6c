/* test_schedules.c - expected times by interval and cron, and how maintenance moves them. */
#include "features/agents/schedules/schedules.h"
#include "features/agents/schedules/store.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "test.h"

#define S(seconds) ((int64_t)(seconds) * USEC_PER_SEC)

static const struct opt_int nothing = { 0 };

static int64_t at(const char *text)
{
    int64_t us = 0;

    CHECK(datetime_parse(str_of(text), &us) == NULL);
    return us;
}

static struct schedule by_cron(const char *cron, const char *zone)
{
    const struct schedule_row row = { .cron = str_of(cron),
                                      .time_zone = str_of(zone),
                                      .scheduled_at = TIME_NULL };

    return schedule_of(&nothing, &row);
}

static struct schedule every(int64_t seconds)
{
    const struct schedule_row row = { .every_seconds = { true, seconds },
                                      .scheduled_at = TIME_NULL };

    return schedule_of(&nothing, &row);
}

static struct window once(const char *from, const char *until)
{
    return window_of(&(struct window_row){ .from_at = at(from), .until_at = at(until) });
}

/* On weekdays whose bits are set, for `minutes`. */
static struct window weekly(int64_t weekdays, int64_t start_minute, int64_t minutes)
{
    return window_of(&(struct window_row){ .from_at = TIME_NULL,
                                           .until_at = TIME_NULL,
                                           .weekdays = weekdays,
                                           .start_minute = start_minute,
                                           .minutes = minutes,
                                           .time_zone = STR_LIT("UTC") });
}

static int64_t due_after(const struct schedule *s, const char *seen)
{
    return schedule_deadline(s, at(seen), at(seen)).due_at;
}

TEST(what_a_person_sets_goes_before_what_the_agent_declares)
{
    const struct opt_int declared = { true, 60 };
    const struct schedule_row none = { .scheduled_at = TIME_NULL };
    const struct schedule_row own = { .every_seconds = { true, 600 }, .scheduled_at = 5 };
    const struct schedule_row paused = { .paused = true, .scheduled_at = 5 };
    const struct schedule_row grace = { .grace_seconds = { true, 7 }, .scheduled_at = 5 };
    const struct schedule_row cron = { .cron = STR_LIT("0 8 * * *"),
                                       .time_zone = STR_LIT("No/Where"),
                                       .scheduled_at = 5 };
    struct schedule s = schedule_of(&declared, &none);

    CHECK(!s.is_set && s.interval_us == S(60) && schedule_expects(&s));
    s = schedule_of(&declared, &own);
    CHECK(s.is_set && s.interval_us == S(600));
    s = schedule_of(&declared, &paused);
    CHECK(s.is_set && s.interval_us == S(60) && !schedule_expects(&s));
    s = schedule_of(&declared, &grace);
    CHECK(s.is_set && s.interval_us == S(60) && schedule_grace_us(&s, S(1)) == S(7));
    s = schedule_of(&declared, &cron);
    CHECK(s.kind == SCHEDULE_CRON && s.interval_us == 0);
    CHECK_INT(due_after(&s, "2026-01-15T09:00:00Z"), at("2026-01-16T08:00:00Z"));
}

TEST(a_schedule_counts_from_when_it_was_set)
{
    const struct schedule_row row = { .every_seconds = { true, 3600 },
                                      .scheduled_at = at("2026-01-15T12:00:00Z") };
    const struct schedule s = schedule_of(&nothing, &row);

    CHECK_INT(schedule_deadline(&s, at("2026-01-01T00:00:00Z"), s.since_at - S(60)).due_at,
              at("2026-01-15T13:00:00Z"));
    CHECK_INT(due_after(&s, "2026-01-15T12:30:00Z"), at("2026-01-15T13:30:00Z"));
    /* A clock that was wrong set it. */
    CHECK_INT(schedule_deadline(&s, at("2026-01-01T00:00:00Z"), s.since_at - S(61)).due_at,
              at("2026-01-01T01:00:00Z"));
}

TEST(a_sign_of_life_shortly_before_an_expected_time_stands_for_it)
{
    static const struct {
        const char *cron, *seen, *due;
    } rows[] = {
        { "0 8 * * *", "2026-01-15T07:58:59Z", "2026-01-15T08:00:00Z" },
        { "0 8 * * *", "2026-01-15T07:59:00Z", "2026-01-16T08:00:00Z" },
        { "0 8 * * *", "2026-01-15T08:00:00Z", "2026-01-16T08:00:00Z" },
        { "* * * * *", "2026-01-15T07:59:44Z", "2026-01-15T08:00:00Z" },
        { "* * * * *", "2026-01-15T07:59:45Z", "2026-01-15T08:01:00Z" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct schedule s = by_cron(rows[i].cron, "UTC");

        CHECK_INT(due_after(&s, rows[i].seen), at(rows[i].due));
    }
}

TEST(the_grace_of_a_cron_expression_follows_the_time_to_the_next_report)
{
    static const struct {
        const char *cron;
        int64_t grace;
    } rows[] = {
        { "* * * * *", 60 }, { "*/10 * * * *", 300 }, { "0 * * * *", 1800 }, { "0 8 * * *", 3600 }
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct schedule s = by_cron(rows[i].cron, "Europe/Berlin");

        CHECK_INT(schedule_grace_us(&s, at("2026-01-15T09:00:00Z")), S(rows[i].grace));
    }
}

TEST(maintenance_moves_what_is_expected_in_it_behind_it)
{
    const struct window night = weekly(0x7f, 120, 120); /* each day from 02:00 to 04:00 */
    const struct window moving = once("2026-01-15T10:00:00Z", "2026-01-15T12:00:00Z");
    static const struct {
        int64_t every; /* 0: by cron at 03:00 */
        bool once;
        const char *seen, *due;
    } rows[] = {
        { 3600, true, "2026-01-15T08:00:00Z", "2026-01-15T09:00:00Z" },   /* silent before it */
        { 3600, true, "2026-01-15T09:30:00Z", "2026-01-15T13:00:00Z" },   /* due in it */
        { 3600, true, "2026-01-15T08:45:00Z", "2026-01-15T09:45:00Z" },   /* it cuts the grace */
        { 3600, true, "2026-01-15T12:10:00Z", "2026-01-15T13:10:00Z" },   /* seen after it */
        { 86400, false, "2026-01-15T09:00:00Z", "2026-01-16T09:00:00Z" }, /* it only lies between */
        { 86400, false, "2026-01-15T03:00:00Z", "2026-01-17T04:00:00Z" },
        { 79200, false, "2026-01-15T05:00:00Z", "2026-01-17T04:00:00Z" }, /* always in a window */
        { 0, false, "2026-01-15T05:00:00Z", "2026-01-17T04:00:00Z" },     /* the same by cron */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct schedule s =
            rows[i].every == 0 ? by_cron("0 3 * * *", "UTC") : every(rows[i].every);
        const struct windows windows = { rows[i].once ? &moving : &night, 1, 7 };

        CHECK_INT(
            schedule_deadline_outside(&s, &windows, at(rows[i].seen), at(rows[i].seen)).due_at,
            at(rows[i].due));
    }
}

TEST(the_grace_does_not_pass_in_maintenance)
{
    const struct window night = weekly(0x7f, 120, 120); /* each day from 02:00 to 04:00 */
    const struct window moving = once("2026-01-15T10:00:00Z", "2026-01-15T12:00:00Z");
    static const struct {
        int64_t every, grace;
        bool once;
        const char *seen, *silent;
    } rows[] = {
        { 3600, 1800, true, "2026-01-15T08:45:00Z", "2026-01-15T12:15:00Z" },
        { 3600, 1800, true, "2026-01-15T08:00:00Z", "2026-01-15T09:30:00Z" }, /* over before it */
        { 3600, 86400, false, "2026-01-15T08:00:00Z", "2026-01-16T11:00:00Z" },
        { 3600, 259200, false, "2026-01-15T08:00:00Z", "2026-01-18T15:00:00Z" },
        { 3600, 64800, false, "2026-01-15T07:00:00Z", "2026-01-16T02:00:00Z" }, /* up to it */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct schedule s = every(rows[i].every);
        const struct windows windows = { rows[i].once ? &moving : &night, 1, 7 };
        const int64_t seen = at(rows[i].seen);

        s.grace_us = S(rows[i].grace);
        CHECK_INT(schedule_deadline_outside(&s, &windows, seen, seen).silent_at,
                  at(rows[i].silent));
        CHECK_INT(schedule_deadline_outside(&s, &windows, seen, seen + S(90 * 86400)).silent_at,
                  at(rows[i].silent));
    }
}

/* Windows of which each begins where the one before in the list ends would be the cheap case. */
TEST(many_windows_cost_a_bounded_search_and_open_no_alert_in_one)
{
    struct window list[100];
    const struct windows windows = { list, COUNT_OF(list), 7 };
    const int64_t seen = at("2026-01-15T00:00:00Z"), now = at("2026-06-15T00:00:00Z");
    struct windows_search search = { .windows = &windows, .now = now };
    const struct schedule s = every(60);

    for (size_t i = 0; i < COUNT_OF(list); i++) /* a quarter of an hour each, the last one first */
        list[i] = weekly(0x7f, (int64_t)(COUNT_OF(list) - 1 - i) % 96 * 15, 15);
    CHECK(schedule_deadline_outside(&s, &windows, seen, now).silent_at > now);
    CHECK(windows_end(&search, seen) > seen && search.looks < 1000);
    for (size_t i = 0; i < COUNT_OF(list); i++)
        list[i] = weekly(0x7f, 0, 1440);
    search.looks = 0;
    CHECK(schedule_deadline_outside(&s, &windows, seen, now).silent_at > now);
    CHECK(windows_end(&search, seen) > now && search.looks < 1000);
}

TEST(the_last_time_of_a_window_is_known)
{
    const struct window sundays = weekly(1, 120, 120),
                        later = once("2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z");
    int64_t from, until;

    CHECK(window_latest(&sundays, at("2026-01-21T10:00:00Z"), &from, &until));
    CHECK_INT(from, at("2026-01-18T02:00:00Z"));
    CHECK_INT(until, at("2026-01-18T04:00:00Z"));
    CHECK(window_latest(&sundays, at("2026-01-18T02:00:00Z"), &from, &until));
    CHECK_INT(from, at("2026-01-18T02:00:00Z"));
    CHECK(!window_latest(&later, at("2026-01-31T23:59:59Z"), &from, &until));
}

TEST(windows_that_touch_count_as_one_and_other_agents_do_not_matter)
{
    struct window list[] = { once("2026-01-15T10:00:00Z", "2026-01-15T12:00:00Z"),
                             once("2026-01-15T12:00:00Z", "2026-01-15T13:00:00Z"),
                             once("2026-01-15T13:00:00Z", "2026-01-15T20:00:00Z") };
    const struct windows windows = { list, COUNT_OF(list), 7 };
    struct windows_search search = { .windows = &windows, .now = at("2026-01-15T11:00:00Z") };

    list[2].agent_id = 8;
    CHECK_INT(windows_end(&search, at("2026-01-15T11:00:00Z")), at("2026-01-15T13:00:00Z"));
    CHECK(windows_end(&search, at("2026-01-15T13:00:00Z")) == TIME_NULL);
    list[2].agent_id = 7;
    CHECK_INT(windows_end(&search, at("2026-01-15T11:00:00Z")), at("2026-01-15T20:00:00Z"));
}

TEST(weekly_windows_follow_the_clock_of_their_zone)
{
    struct window_row row = { .from_at = TIME_NULL,
                              .until_at = TIME_NULL,
                              .weekdays = 1, /* Sunday */
                              .start_minute = 150,
                              .minutes = 60,
                              .time_zone = STR_LIT("Europe/Berlin") };
    const struct window w = window_of(&row);
    int64_t from, until;

    CHECK(window_covers(&w, at("2026-01-18T01:29:59Z"), at("2026-01-18T01:30:01Z"), &from, &until));
    CHECK_INT(from, at("2026-01-18T01:30:00Z"));
    CHECK_INT(until, at("2026-01-18T02:30:00Z"));
    CHECK(
        !window_covers(&w, at("2026-01-18T02:30:00Z"), at("2026-01-19T00:00:00Z"), &from, &until));
    /* The clock jumps over 02:30 on that day, at 01:00 UTC. */
    CHECK(window_covers(&w, at("2026-03-29T01:10:00Z"), at("2026-03-29T01:11:00Z"), &from, &until));
    CHECK_INT(from, at("2026-03-29T01:00:00Z"));
}

TEST(the_state_alone_is_the_same_with_less_work)
{
    const struct window moving = once("2026-01-15T10:00:00Z", "2026-01-15T12:00:00Z");
    struct liveness agent = { .enabled = true,
                              .schedule = every(3600),
                              .windows = { &moving, 1, 7 },
                              .last_seen_at = at("2026-01-15T09:30:00Z") };

    for (int64_t now = agent.last_seen_at; now < at("2026-01-15T15:00:00Z"); now += S(600)) {
        enum liveness_state whole;

        agent.state_only = false;
        whole = liveness_of(&agent, now).state;
        agent.state_only = true;
        CHECK(liveness_of(&agent, now).state == whole);
    }
}

static const int64_t seen = 1700000000000000;

static struct liveness reporting(int64_t seconds)
{
    return (struct liveness){ .enabled = true, .schedule = every(seconds), .last_seen_at = seen };
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
        const struct liveness agent = reporting(rows[i].interval);
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

TEST(extreme_times_and_intervals_do_not_overflow)
{
    const struct liveness slow = reporting(INT64_MAX);
    const struct liveness ahead = reporting(60);

    CHECK(liveness_of(&slow, seen + S(86400)).state == LIVENESS_UP);
    CHECK(liveness_of(&slow, INT64_MAX).state == LIVENESS_SILENT);
    CHECK(liveness_of(&ahead, seen - S(86400)).state == LIVENESS_UP); /* the clock was set back */
}
