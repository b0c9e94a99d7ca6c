/* test_heartbeats.c - the latest sign of life stands, for each process and its agent. */
#include "store/heartbeats.h"

#include "world.h"

/* clang-format off */
static const struct db_query all_processes = {
    .sql = "SELECT client_id || ' ' || first_at || '-' || last_at FROM heartbeats"
           " ORDER BY tenant_id, client_id",
};
static const struct db_query all_agents = {
    .sql = "SELECT agent_name || ' ' || COALESCE(heartbeat_at, 'null') FROM agents"
           " ORDER BY agent_id",
};
/* clang-format on */

static void put(struct world *w, const char *client, const char *agent, int64_t at)
{
    const struct heartbeat beat = { w->tenant_id, str_of(client), str_of(agent), at };
    struct error err = { 0 };

    must(store_heartbeat_put(w->db, &beat, &err), &err);
}

TEST(the_latest_sign_of_life_stands)
{
    struct world w;

    world_init(&w);
    put(&w, "p", NULL, 5);
    put(&w, "q", NULL, 6);
    put(&w, "p", NULL, 9);
    put(&w, "p", NULL, 7); /* overtaken on its way */
    put(&w, "", NULL, 8);
    CHECK_STR(world_rows(&w, &all_processes, NULL), " 8-8\np 5-9\nq 6-6");
    CHECK_STR(world_rows(&w, &all_agents, NULL), "collector null");
    world_done(&w);
}

TEST(a_key_of_its_own_speaks_for_the_agent_that_is_known)
{
    struct world w;

    world_init(&w);
    (void)world_add_agent(&w, "other");
    put(&w, "p", "collector", 5);
    put(&w, "q", "collector", 4);
    put(&w, "p", "never seen", 6);
    CHECK_STR(world_rows(&w, &all_processes, NULL), "p 5-6\nq 4-4");
    CHECK_STR(world_rows(&w, &all_agents, NULL), "collector 5\nother null");
    world_done(&w);
}
