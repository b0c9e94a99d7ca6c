/* test_heartbeats_store.c - the latest heartbeat of each process stands. */
#include "features/agents/heartbeats_store.h"

#include "unit/store_world.h"

/* clang-format off */
static const struct db_query all_processes = {
    .sql = "SELECT client_id || ' ' || first_at || '-' || last_at FROM heartbeats"
           " ORDER BY tenant_id, client_id",
};
/* clang-format on */

static void put(struct world *w, const char *client, int64_t at)
{
    const struct heartbeat beat = { w->tenant_id, str_of(client), at };
    struct error err = { 0 };

    must(store_heartbeat_put(w->db, &beat, &err), &err);
}

TEST(the_latest_heartbeat_of_a_process_stands)
{
    struct world w;

    world_init(&w);
    put(&w, "p", 5);
    put(&w, "q", 6);
    put(&w, "p", 9);
    put(&w, "p", 7); /* overtaken on its way */
    put(&w, "", 8);
    CHECK_STR(world_rows(&w, &all_processes, DB_NO_ARGS), " 8-8\np 5-9\nq 6-6");
    world_done(&w);
}
