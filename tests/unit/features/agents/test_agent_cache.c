/* test_agent_cache.c - a sign of life is known at once and stored a little later whatever fails,
 * and an agent that has changed is looked up again. */
#include "features/agents/agent_cache.h"

#include "base/clock.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/tenants.h"
#include "features/agents/agents_store.h"
#include "features/alerts/silence.h"
#include "hooks/fault.h"
#include "shape/shape.h"
#include "unit/temp_db.h"

static const struct db_query select_seen = {
    .sql = "SELECT COALESCE(last_seen_at, -1) FROM agent_signs WHERE agent_id = $1",
};

enum { RECHECK_S = 120, SOON_S = 10 };

struct world {
    struct db *real, *fault;
    struct agent_cache *cache;
    int64_t tenant_id, agent_id;
    int64_t now_us; /* monotonic */
};

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void world_init(struct world *w, int nth)
{
    struct tenant_row tenant = { .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 9 };
    struct agent_row agent;

    *w = (struct world){ .real = temp_db_open(temp_db_migrated(), DB_WRITER),
                         .cache = agent_cache_new() };
    agent_cache_on_sightings(w->cache, silent_alert_on_sightings);
    CHECK(tenant_add(w->real, &tenant, NULL) == 0);
    CHECK(agents_add(w->real, tenant.tenant_id, STR_LIT("a"), 1, &agent, NULL) == 0);
    w->tenant_id = tenant.tenant_id;
    w->agent_id = agent.agent_id;
    w->fault = db_fault_new(w->real, nth, ERR_FULL);
}

static void world_done(struct world *w)
{
    agent_cache_free(w->cache);
    db_close(w->fault);
    db_close(w->real);
}

static void see(struct world *w, int64_t at)
{
    agent_cache_seen(w->cache, agent_cache_get(w->cache, w->tenant_id, w->agent_id), at);
}

/* A writer that lives as long as one save. */
static void save(struct world *w)
{
    struct txn txn = { .db = w->fault };
    const struct writer_options options = {
        .txns = &txn, .n_txns = 1, .limits = { 10, 10, 10, 0 }, .on_fatal = on_fatal
    };
    struct writer *writer;

    CHECK(writer_new(&options, &writer, NULL) == 0);
    agent_cache_save(w->cache, writer);
    writer_free(writer);
}

static int64_t stored(struct world *w)
{
    return temp_db_int(w->real, &select_seen, DB_ARGS(db_int(w->agent_id)));
}

static int64_t seen(struct world *w, int64_t stored_at)
{
    return agent_cache_last_seen(w->cache, w->tenant_id, w->agent_id, stored_at, clock_wall_us());
}

TEST(a_sign_is_known_at_once_and_stored_by_the_next_save)
{
    struct world w;

    world_init(&w, -1);
    CHECK(seen(&w, TIME_NULL) == TIME_NULL);
    CHECK_INT(seen(&w, 5), 5); /* another process saw it */
    see(&w, 10);
    CHECK_INT(seen(&w, 9), 10);
    CHECK_INT(seen(&w, 11), 11);
    CHECK(seen(&w, TIME_NULL) == TIME_NULL); /* it was removed, and is there again */
    CHECK_INT(stored(&w), -1);
    save(&w);
    CHECK_INT(stored(&w), 10);
    see(&w, 9); /* overtaken on its way */
    save(&w);
    CHECK_INT(stored(&w), 10);
    see(&w, 12);
    see(&w, 13);
    save(&w);
    CHECK_INT(stored(&w), 13);
    world_done(&w);
}

TEST(a_clock_that_was_set_back_does_not_leave_an_agent_in_the_future)
{
    int64_t now = clock_wall_us();
    struct world w;

    world_init(&w, -1);
    see(&w, now + 10 * SIGHTING_AHEAD_US);
    save(&w);
    see(&w, now);
    CHECK_INT(seen(&w, stored(&w)), now);
    save(&w);
    CHECK_INT(stored(&w), now);
    world_done(&w);
}

/* It reported here long ago, and to another process since. */
TEST(what_was_heard_here_long_ago_does_not_hide_what_others_heard)
{
    struct world w;

    world_init(&w, -1);
    see(&w, 100);
    CHECK_INT(seen(&w, 100 + 10 * SIGHTING_AHEAD_US), 100 + 10 * SIGHTING_AHEAD_US);
    world_done(&w);
}

TEST(whichever_call_fails_the_next_save_stores_it)
{
    int failed = 0;

    for (int nth = 0; nth < 6; nth++) {
        struct world w;

        world_init(&w, nth);
        see(&w, 10);
        save(&w);
        failed += stored(&w) != 10;
        save(&w);
        CHECK_INT(stored(&w), 10);
        world_done(&w);
    }
    CHECK_INT(failed, 4); /* begin, update, alerts, commit: proof that the fault fires */
}

TEST(an_agent_without_a_row_is_given_up)
{
    struct world w;

    world_init(&w, -1);
    agent_cache_seen(w.cache, agent_cache_get(w.cache, w.tenant_id, 99), 10);
    for (int i = 0; i < 10; i++)
        save(&w);
    see(&w, 11);
    save(&w);
    CHECK_INT(stored(&w), 11);
    world_done(&w);
}

static void tick_after(struct world *w, int seconds, bool healthy)
{
    w->now_us += seconds * (int64_t)USEC_PER_SEC;
    agent_cache_tick(w->cache, w->now_us, healthy);
}

/* Does the next tick, after so long, make a writer look up the agent again? */
static bool looks_again(struct world *w, int64_t agent_id, int seconds)
{
    const struct agent_entry *entry = agent_cache_get(w->cache, 1, agent_id);
    const int64_t read_no = agent_cache_changes(w->cache).n;

    tick_after(w, seconds, true);
    return !agent_entry_holds(entry, read_no);
}

static bool looks_at_all_again(struct world *w, int seconds)
{
    const int64_t before = agent_cache_changes(w->cache).of_all;

    tick_after(w, seconds, true);
    return agent_cache_changes(w->cache).of_all != before;
}

TEST(an_agent_that_has_changed_is_looked_up_again_for_two_minutes_and_no_other)
{
    struct world w;

    world_init(&w, -1);
    agent_cache_recheck(w.cache, 1, 7, w.now_us);
    for (int second = 1; second <= RECHECK_S; second++)
        CHECK(looks_again(&w, 7, 1));
    CHECK(!looks_again(&w, 7, 1));
    agent_cache_recheck(w.cache, 1, 7, w.now_us);
    CHECK(!looks_again(&w, 8, 1));
    CHECK_INT(agent_cache_changes(w.cache).of_all, 0);
    world_done(&w);
}

TEST(while_a_server_is_away_the_time_does_not_run)
{
    struct world w;

    world_init(&w, -1);
    agent_cache_recheck(w.cache, 1, 7, w.now_us);
    agent_cache_recheck_all(w.cache, w.now_us);
    CHECK(looks_at_all_again(&w, SOON_S));
    for (int i = 0; i < 3; i++)
        tick_after(&w, RECHECK_S, false);
    CHECK(looks_again(&w, 7, RECHECK_S - 1));
    CHECK(looks_at_all_again(&w, 1));
    CHECK(!looks_again(&w, 7, 1));
    world_done(&w);
}

TEST(all_agents_are_looked_up_again_soon_and_when_the_time_is_over)
{
    struct world w;

    world_init(&w, -1);
    agent_cache_recheck_all(w.cache, w.now_us);
    CHECK(!looks_at_all_again(&w, SOON_S - 1));
    agent_cache_recheck_all(w.cache, w.now_us);
    CHECK(looks_at_all_again(&w, 1));
    CHECK(!looks_at_all_again(&w, RECHECK_S - 2));
    CHECK(looks_at_all_again(&w, 1));
    CHECK(!looks_at_all_again(&w, RECHECK_S));
    world_done(&w);
}
