/* test_rechecks.c - how long an agent is looked up again after it has changed. */
#include "features/agents/rechecks.h"

#include "base/clock.h"
#include "base/digest.h"
#include "features/agents/last_seen.h"
#include "test.h"

enum { LONG_S = 120, SOON_S = 10, ROOM = 1024 };

struct world {
    struct last_seen *last_seen;
    struct rechecks *rechecks;
    int64_t now_us;
};

static void world_init(struct world *w)
{
    digest_init();
    *w = (struct world){ .last_seen = last_seen_new(),
                         .rechecks = rechecks_new(),
                         .now_us = 1000 * (int64_t)USEC_PER_SEC };
}

static void world_done(struct world *w)
{
    rechecks_free(w->rechecks);
    last_seen_free(w->last_seen);
}

static void tick_after(struct world *w, int seconds, bool healthy)
{
    w->now_us += seconds * (int64_t)USEC_PER_SEC;
    rechecks_tick(w->rechecks, w->last_seen, w->now_us, healthy);
}

/* Has the next tick, after so long, a writer look at the agent again that it has just looked up? */
static bool looks_again(struct world *w, int64_t agent_id, int seconds)
{
    const struct last_seen_entry *entry = last_seen_get(w->last_seen, 1, agent_id);
    const int64_t read_no = last_seen_changes(w->last_seen).n;

    tick_after(w, seconds, true);
    return !last_seen_holds(entry, read_no);
}

static bool looks_at_all_again(struct world *w, int seconds)
{
    const int64_t before = last_seen_changes(w->last_seen).of_all;

    tick_after(w, seconds, true);
    return last_seen_changes(w->last_seen).of_all != before;
}

TEST(an_agent_that_has_changed_is_looked_up_again_for_two_minutes_and_no_other)
{
    struct world w;

    world_init(&w);
    rechecks_add(w.rechecks, 1, 7, w.now_us);
    for (int second = 1; second <= LONG_S; second++)
        CHECK(looks_again(&w, 7, 1));
    CHECK(!looks_again(&w, 7, 1));
    rechecks_add(w.rechecks, 1, 7, w.now_us);
    CHECK(!looks_again(&w, 8, 1));
    CHECK_INT(last_seen_changes(w.last_seen).of_all, 0);
    world_done(&w);
}

/* Otherwise a process that was stopped for long would keep what it read before. */
TEST(the_last_look_comes_after_the_time_is_over_however_late_the_tick)
{
    struct world w;

    world_init(&w);
    rechecks_add(w.rechecks, 1, 7, w.now_us);
    CHECK(looks_again(&w, 7, 10 * LONG_S));
    CHECK(!looks_again(&w, 7, 1));
    world_done(&w);
}

TEST(a_further_change_begins_the_time_again_and_takes_no_further_room)
{
    struct world w;

    world_init(&w);
    for (int i = 0; i < 2 * ROOM; i++)
        rechecks_add(w.rechecks, 1, 7, w.now_us);
    CHECK(looks_again(&w, 7, LONG_S - 1));
    rechecks_add(w.rechecks, 1, 7, w.now_us);
    CHECK(looks_again(&w, 7, LONG_S - 1));
    CHECK(looks_again(&w, 7, 1));
    CHECK(!looks_again(&w, 7, 1));
    CHECK_INT(last_seen_changes(w.last_seen).of_all, 0);
    world_done(&w);
}

TEST(while_a_server_is_away_the_time_does_not_run)
{
    struct world w;

    world_init(&w);
    rechecks_add(w.rechecks, 1, 7, w.now_us);
    rechecks_add_all(w.rechecks, w.now_us);
    CHECK(looks_at_all_again(&w, SOON_S));
    for (int i = 0; i < 3; i++)
        tick_after(&w, LONG_S, false);
    CHECK(looks_again(&w, 7, LONG_S - 1));
    CHECK(looks_at_all_again(&w, 1));
    CHECK(!looks_again(&w, 7, 1));
    world_done(&w);
}

TEST(all_agents_are_looked_up_again_soon_and_when_the_time_is_over)
{
    struct world w;

    world_init(&w);
    rechecks_add_all(w.rechecks, w.now_us);
    CHECK(!looks_at_all_again(&w, SOON_S - 1));
    rechecks_add_all(w.rechecks, w.now_us);
    CHECK(looks_at_all_again(&w, 1));
    CHECK(!looks_at_all_again(&w, LONG_S - 2));
    CHECK(looks_at_all_again(&w, 1));
    CHECK(!looks_at_all_again(&w, LONG_S));
    world_done(&w);
}

TEST(more_agents_than_there_is_room_for_are_all_agents)
{
    struct world w;

    world_init(&w);
    for (int64_t agent = 1; agent <= ROOM; agent++)
        rechecks_add(w.rechecks, 1, agent, w.now_us);
    CHECK(!looks_at_all_again(&w, LONG_S / 2));
    rechecks_add(w.rechecks, 1, ROOM + 1, w.now_us);
    CHECK(looks_at_all_again(&w, SOON_S));
    CHECK(looks_at_all_again(&w, LONG_S - SOON_S));
    CHECK(!looks_again(&w, ROOM, 1));
    world_done(&w);
}
