/* test_sweep_pace.c - deleting keeps up with what arrives, and takes little where that is enough.
 */
#include "features/retention/sweep.h"

#include "base/clock.h"
#include "test.h"

enum { EVENT_BYTES = 450, STEP_ROWS = 1000, MINUTES = 60 };

/* A service that gets as many events in each second and keeps all for the same time: as many more
 * are due in each. */
struct service {
    struct sweep_pace pace;
    int64_t events_per_s, row_ns, step_us; /* what deleting costs */
    int64_t now_s, pass_s;                 /* when the last pass began */
    int64_t due, in_pass;                  /* events; of these, in the pass that is under way */
    uint64_t waiting;                      /* bytes of reports */
};

static void service_init(struct service *s, int64_t events_per_s, int64_t row_ns, bool several)
{
    *s = (struct service){ .pace = { .several = several },
                           .events_per_s = events_per_s,
                           .row_ns = row_ns,
                           .step_us = 2000 };
}

/* As sweep.c: a step after the other while the pace allows it. */
static void service_second(struct service *s)
{
    int64_t since_s;
    bool changes;

    s->now_s++;
    s->due += s->events_per_s;
    if (s->in_pass == 0 && s->now_s - s->pass_s >= SWEEP_PERIOD_S) {
        s->pass_s = s->now_s;
        s->in_pass = s->due;
    }
    since_s = s->now_s - s->pass_s;
    changes = s->in_pass > 0 ? since_s >= SWEEP_PERIOD_S : since_s <= SWEEP_PERIOD_S / 2;
    s->pace = (struct sweep_pace){ .behind = changes ? s->in_pass > 0 : s->pace.behind,
                                   .several = s->pace.several,
                                   .arrived = (uint64_t)(2 * s->events_per_s * EVENT_BYTES),
                                   .waiting = s->waiting };
    while (s->in_pass > 0) {
        const int64_t rows = s->in_pass < STEP_ROWS ? s->in_pass : STEP_ROWS;

        s->pace.spent_us += s->step_us + rows * s->row_ns / 1000;
        s->pace.rows += rows;
        s->in_pass -= rows;
        s->due -= rows;
        if (!sweep_pace_may_continue(&s->pace))
            break;
    }
}

/* The most of a second that it took in the last ten minutes of an hour. */
static int64_t service_hour(struct service *s)
{
    int64_t most_us = 0;

    for (int i = 0; i < MINUTES * 60; i++) {
        service_second(s);
        if (i >= (MINUTES - 10) * 60 && s->pace.spent_us > most_us)
            most_us = s->pace.spent_us;
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

/* Nothing arrives: half of a second. */
TEST(it_uses_half_of_the_time_of_an_idle_service)
{
    struct service s;

    service_init(&s, 0, 8000, false);
    s.due = 10000000;
    for (int i = 0; i < 70; i++)
        service_second(&s);
    CHECK(s.pace.spent_us >= 500000);
    CHECK(s.pace.spent_us <= 500000 + 2000 + STEP_ROWS * 8);
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
