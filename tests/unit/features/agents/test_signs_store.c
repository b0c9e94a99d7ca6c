/* test_signs_store.c - the latest sign of life stands, unless it comes from a clock that was wrong.
 */
#include "features/agents/signs_store.h"

#include "features/agents/agent_cache.h"
#include "unit/store_world.h"

/* clang-format off */
static const struct db_query all_signs = {
    .sql = "SELECT agent_id || ' ' || COALESCE(last_seen_at, 'never') FROM agent_signs"
           " ORDER BY tenant_id, agent_id",
};
static const struct db_query all_processes = {
    .sql = "SELECT client_id || ' ' || first_at || '-' || last_at FROM heartbeats"
           " ORDER BY tenant_id, client_id",
};
/* clang-format on */

static bool put_at(struct world *w, int64_t agent_id, int64_t at, int64_t now)
{
    struct sighting sighting = { .tenant_id = w->tenant_id, .agent_id = agent_id, .at = at };
    struct error err = { 0 };

    must(sightings_put(w->db, &sighting, 1, now, &err), &err);
    return sighting.stored;
}

static bool put(struct world *w, int64_t agent_id, int64_t at)
{
    return put_at(w, agent_id, at, at);
}

TEST(the_later_of_two_signs_stands_but_for_one_that_is_far_ahead)
{
    static const struct {
        int64_t before, at, after;
    } rows[] = {
        { 100, 101, 101 },
        { 100, 100, 100 },
        { 100, 99, 100 },
        { 100 + SIGHTING_AHEAD_US, 100, 100 + SIGHTING_AHEAD_US },
        { 101 + SIGHTING_AHEAD_US, 100, 100 },
    };
    struct agent_row agent;
    struct world w;

    world_init(&w);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK(put(&w, 1, 0)); /* far enough back to count */
        CHECK(put(&w, 1, rows[i].before));
        CHECK(put(&w, 1, rows[i].at));
        CHECK(agents_find(w.db, w.tenant_id, STR_LIT("collector"), &agent, NULL) == 0);
        CHECK_INT(agent.last_seen_at, rows[i].after);
        CHECK(put(&w, 1, -2 * SIGHTING_AHEAD_US));
    }
    world_done(&w);
}

TEST(many_signs_are_stored_at_once_and_each_agents_own)
{
    struct sighting sightings[] = { { .agent_id = 3, .at = 30 },
                                    { .agent_id = 9, .at = 90 }, /* there is none */
                                    { .agent_id = 1, .at = 10 } };
    struct error err = { 0 };
    struct world w;

    world_init(&w);
    (void)world_add_agent(&w, "b");
    (void)world_add_agent(&w, "c");
    for (size_t i = 0; i < COUNT_OF(sightings); i++)
        sightings[i].tenant_id = w.tenant_id;
    must(sightings_put(w.db, sightings, COUNT_OF(sightings), 90, &err), &err);
    CHECK_STR(world_rows(&w, &all_signs, DB_NO_ARGS), "1 10\n2 never\n3 30");
    CHECK_INT(sightings[2].agent_id, 9); /* sorted */
    CHECK(sightings[0].stored && sightings[1].stored && !sightings[2].stored);
    sightings[0].tenant_id++; /* another tenant's numbers touch nothing */
    must(sightings_put(w.db, sightings, 1, 90, &err), &err);
    CHECK(!sightings[0].stored);
    world_done(&w);
}

static void beat_at(struct world *w, const char *client, int64_t at)
{
    const struct heartbeat beat = { w->tenant_id, str_of(client), at };
    struct error err = { 0 };

    must(heartbeat_put(w->db, &beat, &err), &err);
}

TEST(the_latest_heartbeat_of_a_process_stands)
{
    struct world w;

    world_init(&w);
    beat_at(&w, "p", 5);
    beat_at(&w, "q", 6);
    beat_at(&w, "p", 9);
    beat_at(&w, "p", 7); /* overtaken on its way */
    beat_at(&w, "", 8);
    CHECK_STR(world_rows(&w, &all_processes, DB_NO_ARGS), " 8-8\np 5-9\nq 6-6");
    world_done(&w);
}
