/* test_last_seen.c - a sign of life is known at once, and stored a little later whatever fails. */
#include "features/agents/last_seen.h"

#include "base/clock.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/tenants_store.h"
#include "features/agents/last_seen_store.h"
#include "features/agents/store.h"
#include "features/alerts/silence/silent_alert.h"
#include "hooks/fault.h"
#include "shape/shape.h"
#include "unit/temp_db.h"

static const struct db_query select_seen = {
    .sql = "SELECT COALESCE(last_seen_at, -1) FROM agent_signs WHERE agent_id = $1",
};

struct world {
    struct db *real, *fault;
    struct last_seen *last_seen;
    int64_t tenant_id, agent_id;
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
                         .last_seen = last_seen_new() };
    last_seen_on_stored(w->last_seen, silent_alert_on_sightings);
    CHECK(store_tenant_add(w->real, &tenant, NULL) == 0);
    CHECK(store_agent_add(w->real, tenant.tenant_id, STR_LIT("a"), 1, &agent, NULL) == 0);
    w->tenant_id = tenant.tenant_id;
    w->agent_id = agent.agent_id;
    w->fault = db_fault_new(w->real, nth, ERR_FULL);
}

static void world_done(struct world *w)
{
    last_seen_free(w->last_seen);
    db_close(w->fault);
    db_close(w->real);
}

static void see(struct world *w, int64_t at)
{
    last_seen_note(w->last_seen, last_seen_get(w->last_seen, w->tenant_id, w->agent_id), at);
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
    last_seen_save(w->last_seen, writer);
    writer_free(writer);
}

static int64_t stored(struct world *w)
{
    return temp_db_int(w->real, &select_seen, DB_ARGS(db_int(w->agent_id)));
}

static int64_t seen(struct world *w, int64_t stored_at)
{
    return last_seen_latest(w->last_seen, w->tenant_id, w->agent_id, stored_at, clock_wall_us());
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
    last_seen_note(w.last_seen, last_seen_get(w.last_seen, w.tenant_id, 99), 10);
    for (int i = 0; i < 10; i++)
        save(&w);
    see(&w, 11);
    save(&w);
    CHECK_INT(stored(&w), 11);
    world_done(&w);
}
