/* test_sweep_pace.c - deleting keeps up with what arrives, and takes little where that is enough.
 */
#include "features/retention/sweep_pace.h"

#include "base/clock.h"
#include "test.h"

enum { EVENT_BYTES = 450, STEP_ROWS = 1000, MINUTES = 60 };

/* A service that gets as many events in each second and keeps all for the same time: as many more
 * are due in each. */
struct service {
    struct sweep_pace pace;
    int64_t events_per_s, row_ns, step_us; /* what deleting costs */
    int64_t mono_us, pass_us;              /* when the last pass was due */
    int64_t due, in_pass;                  /* events; of these, in the pass that is under way */
    uint64_t incoming, waiting;            /* bytes of reports */
    int64_t spent_us;                      /* of the last second */
};

static void service_init(struct service *s, int64_t events_per_s, int64_t row_ns, bool several)
{
    *s = (struct service){ .events_per_s = events_per_s, .row_ns = row_ns, .step_us = 2000 };
    sweep_pace_init(&s->pace, several);
}

/* As sweep.c: a step after the other while the pace allows it. */
static void service_second(struct service *s)
{
    s->mono_us += USEC_PER_SEC;
    s->due += s->events_per_s;
    s->incoming += (uint64_t)(s->events_per_s * EVENT_BYTES);
    if (s->in_pass == 0 && s->mono_us - s->pass_us >= (int64_t)SWEEP_PERIOD_S * USEC_PER_SEC) {
        s->pass_us = s->mono_us;
        s->in_pass = s->due;
    }
    sweep_pace_tick(&s->pace, s->in_pass > 0, s->mono_us, s->incoming);
    while (s->in_pass > 0) {
        const int64_t rows = s->in_pass < STEP_ROWS ? s->in_pass : STEP_ROWS;

        sweep_pace_spend(&s->pace, s->step_us + rows * s->row_ns / 1000, rows);
        s->in_pass -= rows;
        s->due -= rows;
        if (!sweep_pace_may_continue(&s->pace, s->incoming, s->waiting))
            break;
    }
    s->spent_us = s->pace.spent_us;
}

/* The most of a second that it took in the last ten minutes of an hour. */
static int64_t service_hour(struct service *s)
{
    int64_t most_us = 0;

    for (int i = 0; i < MINUTES * 60; i++) {
        service_second(s);
        if (i >= (MINUTES - 10) * 60 && s->spent_us > most_us)
            most_us = s->spent_us;
    }
    return most_us;
}

/* Of what arrives in an hour, at most what arrives in three minutes is late at its end. */
TEST(deleting_keeps_up_with_what_a_store_takes_in)
{
    static const struct {
        int64_t events_per_s, row_ns;
        bool several;
    } stores[] = {
        { 500, 6000, false },  { 30000, 6000, false }, /* SQLite, which has one writer */
        { 2000, 8000, true },  { 20000, 8000, true },
        { 70000, 8000, true }, { 20000, 25000, true }, /* a database with much else to do */
    };

    for (size_t i = 0; i < COUNT_OF(stores); i++) {
        struct service s;

        service_init(&s, stores[i].events_per_s, stores[i].row_ns, stores[i].several);
        service_hour(&s);
        CHECK(s.due <= 180 * s.events_per_s);
    }
}

TEST(a_tenth_of_a_second_is_not_exceeded_where_it_is_enough)
{
    struct service s;

    service_init(&s, 5000, 8000, true);
    CHECK(service_hour(&s) <= 100000 + 2000 + STEP_ROWS * 8);
    CHECK_INT(s.pace.effort, 1);
}

/* What is left for reports, however far behind it is. */
TEST(one_writer_keeps_half_of_its_time_and_several_keep_a_fifth_of_one)
{
    struct service s;

    service_init(&s, 500000, 8000, false);
    CHECK(service_hour(&s) <= 400000 + 2000 + STEP_ROWS * 8);
    CHECK(s.due > 180 * s.events_per_s); /* more than any share would do */
    service_init(&s, 500000, 8000, true);
    CHECK(service_hour(&s) <= 800000 + 2000 + STEP_ROWS * 8);
}

TEST(what_had_to_catch_up_becomes_gentle_again)
{
    struct service s;

    service_init(&s, 40000, 8000, true);
    service_hour(&s);
    CHECK(s.pace.effort > 2);
    s.events_per_s = 3000;
    service_hour(&s);
    CHECK_INT(s.pace.effort, 1);
}

/* Nothing arrives: half of a second. */
TEST(it_uses_half_of_the_time_of_an_idle_service)
{
    struct service s;

    service_init(&s, 0, 8000, false);
    s.due = 10000000;
    for (int i = 0; i < 70; i++)
        service_second(&s);
    CHECK(s.spent_us >= 500000);
    CHECK(s.spent_us <= 500000 + 2000 + STEP_ROWS * 8);
}

/* Far behind, with reports that wait for a writer: as many events go as come, and not many more. */
TEST(what_is_late_waits_while_reports_wait)
{
    struct service s;
    int64_t due, in_ten_minutes;

    service_init(&s, 5000, 8000, true);
    s.due = 100000000;
    s.waiting = (uint64_t)s.events_per_s * EVENT_BYTES / 4;
    service_hour(&s);
    CHECK_INT(s.pace.effort, 8);
    in_ten_minutes = 600 * s.events_per_s;
    due = s.due;
    for (int i = 0; i < 600; i++)
        service_second(&s);
    CHECK(s.due < due);
    CHECK(due - s.due < 2 * in_ten_minutes);
    s.waiting = 0;
    due = s.due;
    for (int i = 0; i < 600; i++)
        service_second(&s);
    CHECK(due - s.due > 5 * in_ten_minutes);
}

TEST(a_pass_that_failed_says_nothing_about_the_effort)
{
    struct sweep_pace pace;

    for (int failed = 0; failed <= 1; failed++) {
        int64_t at_us = 0;

        sweep_pace_init(&pace, true);
        for (int second = 0; second <= SWEEP_PERIOD_S; second++) /* behind: its effort is doubled */
            sweep_pace_tick(&pace, true, at_us += USEC_PER_SEC, 0);
        CHECK_INT(pace.effort, 2);
        sweep_pace_tick(&pace, false, at_us += USEC_PER_SEC, 0);
        sweep_pace_tick(&pace, true, at_us += USEC_PER_SEC, 0);
        if (failed)
            sweep_pace_failed(&pace);
        sweep_pace_tick(&pace, false, at_us += USEC_PER_SEC, 0);
        CHECK_INT(pace.effort, failed ? 2 : 1);
    }
}
