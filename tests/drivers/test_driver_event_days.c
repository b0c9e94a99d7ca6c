/* test_driver_event_days.c - an export looks wherever events of its days may be, and at little
 * else. */
#include "db/migrate.h"
#include "db/servers.h"
#include "features/events/event_days.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "suite.h"
#include "unit/random.h"

enum { TENANTS = 3, DAYS = 60, EVENTS_MAX = 8000 };

/* The last one has the place of the first in a writer's memory. */
static const int64_t tenant_ids[TENANTS] = { 1, 2, 1 + 8192 };

#define DAY_US ((int64_t)86400 * 1000000)
#define BEGAN  (20000 * DAY_US) /* in 2024 */

struct noted {
    int64_t tenant_id, event_no, timestamp;
};

/* What was committed, and by which writer. */
struct world {
    struct db *db;
    struct event_days *days;
    struct random random;
    bool timed;
    int64_t next_no;
    struct noted noted[EVENTS_MAX];
    size_t n;
};

static void must(int r, const struct error *err)
{
    if (r != 0)
        fail_msg("%s", err->text);
}

static void world_init(struct world *w, uint64_t seed)
{
    struct error err = { 0 };

    *w = (struct world){ .db = suite_open(suite_new_database(), DB_WRITER),
                         .random = { seed },
                         .next_no = 1 };
    must(store_migrate(w->db, &err), &err);
    w->timed = strcmp(db_dialect(w->db), "postgres") == 0;
    w->days = event_days_new();
}

static void world_done(struct world *w)
{
    event_days_free(w->days);
    db_close(w->db);
}

/* Mostly of the day, or of days before; a few from anywhere. */
static int64_t some_timestamp(struct world *w, int64_t now)
{
    const int64_t within = (int64_t)random_below(&w->random, DAY_US);

    if (random_percent(&w->random, 90))
        return now - within;
    if (random_percent(&w->random, 80))
        return now - within - (int64_t)random_below(&w->random, 9) * DAY_US;
    return now - within + ((int64_t)random_below(&w->random, 8000) - 4000) * DAY_US;
}

/* One transaction at `now`, which may be taken back. */
static void send(struct world *w, int64_t now, size_t n, bool commits)
{
    struct telemetry_event events[16];
    struct event_item items[16];
    struct error err = { 0 };
    int64_t no = w->timed ? db_number_at(now) + (int64_t)w->next_no : w->next_no;
    const int64_t step = w->timed ? DAY_US / 50 * 4096 + 1 : 1; /* a group crosses midnight */

    CHECK(n <= COUNT_OF(items) && w->n + n <= EVENTS_MAX);
    for (size_t i = 0; i < n; i++) {
        events[i] = (struct telemetry_event){ .timestamp = some_timestamp(w, now) };
        items[i] =
            (struct event_item){ .tenant_id = tenant_ids[random_below(&w->random, TENANTS)],
                                 .received_at = now - (int64_t)random_below(&w->random, DAY_US / 4),
                                 .event = &events[i],
                                 .duplicate = random_percent(&w->random, 5),
                                 .event_no = no + (int64_t)i * step };
    }
    must(db_begin(w->db, &err), &err);
    must(event_days_note(w->days, w->db, items, n, &err), &err);
    if (!commits) {
        db_rollback(w->db);
        event_days_forget(w->days);
        return;
    }
    must(db_commit(w->db, &err), &err);
    w->next_no += (int64_t)n;
    for (size_t i = 0; i < n; i++)
        if (!items[i].duplicate)
            w->noted[w->n++] =
                (struct noted){ items[i].tenant_id, items[i].event_no, events[i].timestamp };
}

/* A clock that is mostly right. */
static int64_t some_leap(struct world *w)
{
    static const int64_t leaps[] = { -1, -1, -2, 1, 40, -40, 4000 };

    if (random_percent(&w->random, 95))
        return 0;
    return leaps[random_below(&w->random, COUNT_OF(leaps))] * DAY_US;
}

/* Some sixty days, with rollbacks, restarts and a clock that is set back now and then. */
static void live(struct world *w)
{
    for (int day = 0; day < DAYS; day++) {
        int64_t now = BEGAN + day * DAY_US;

        for (int i = 0; i < 6; i++) {
            now += (int64_t)random_below(&w->random, DAY_US / 7);
            send(w, now + some_leap(w), 1 + random_below(&w->random, 16),
                 random_percent(&w->random, 90));
        }
        if (random_percent(&w->random, 20)) {
            event_days_free(w->days);
            w->days = event_days_new();
        }
    }
}

static bool is_in(const struct number_ranges *ranges, int64_t no)
{
    for (size_t i = 0; i < ranges->n; i++)
        if (no > ranges->items[i].after && no <= ranges->items[i].until)
            return true;
    return false;
}

/* How many of the tenant's events would be read for these times; all that are wanted must be. */
static size_t count_read(struct world *w, int64_t tenant_id, const struct time_range *range)
{
    const struct days_question q = { tenant_id, *range, INT64_MAX };
    struct number_ranges ranges;
    struct error err = { 0 };
    size_t n = 0;
    ARENA_SCOPED(arena);

    must(event_days_ranges(w->db, &q, &arena, &ranges, &err), &err);
    for (size_t i = 1; i < ranges.n; i++)
        CHECK(ranges.items[i].after >= ranges.items[i - 1].until);
    for (size_t i = 0; i < w->n; i++) {
        const struct noted *e = &w->noted[i];
        bool wanted = e->timestamp >= range->since && e->timestamp < range->until;

        if (e->tenant_id != tenant_id)
            continue;
        n += is_in(&ranges, e->event_no);
        CHECK(!wanted || is_in(&ranges, e->event_no));
    }
    return n;
}

static size_t count_of(const struct world *w, int64_t tenant_id)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        n += w->noted[i].tenant_id == tenant_id;
    return n;
}

TEST(whatever_the_times_are_no_event_is_left_out)
{
    static struct world w;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        world_init(&w, seed);
        live(&w);
        CHECK(w.n > 1500);
        for (int i = 0; i < 300; i++) {
            int64_t since =
                some_timestamp(&w, BEGAN + (int64_t)random_below(&w.random, DAYS) * DAY_US);
            int64_t length =
                (int64_t)random_below(&w.random, (random_percent(&w.random, 50) ? 2 : 90) * DAY_US);
            const struct time_range range = { since, since + 1 + length };

            (void)count_read(&w, tenant_ids[i % TENANTS], &range);
        }
        CHECK_INT(count_read(&w, 1, &(struct time_range){ INT64_MIN, INT64_MAX }), count_of(&w, 1));
        world_done(&w);
    }
}

TEST(little_is_read_besides_the_days_that_are_asked_for)
{
    static struct world w;
    size_t most = 0;

    world_init(&w, 7);
    live(&w);
    for (int64_t day = 10; day < DAYS - 10; day++) {
        const struct time_range range = { BEGAN + day * DAY_US, BEGAN + (day + 1) * DAY_US };
        size_t n = count_read(&w, 2, &range);

        most = n > most ? n : most;
    }
    CHECK(most > 0 && most < count_of(&w, 2) / 2);
    CHECK_INT(count_read(&w, TENANTS + 1, &(struct time_range){ BEGAN, BEGAN + DAY_US }), 0);
    world_done(&w);
}

TEST(a_day_has_one_row_however_many_times_it_has)
{
    static const struct db_query rows = { .sqlite = "SELECT COUNT(*) FROM event_days",
                                          .postgres = "SELECT COUNT(*) FROM event_days" };
    static struct world w;

    world_init(&w, 11);
    for (int i = 0; i < 300; i++)
        send(&w, BEGAN + i, 16, true);
    CHECK_INT(suite_int(w.db, &rows), TENANTS);
    world_done(&w);
}
