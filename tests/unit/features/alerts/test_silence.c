/* test_silence.c - who is silent, by clocks that step, pause and lose their database. */
#include "features/alerts/watch.h"

#include "base/clock.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/tenants.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents_store.h"
#include "features/agents/signs_store.h"
#include "features/alerts/silence.h"
#include "unit/temp_db.h"

#define S(seconds) ((int64_t)(seconds) * USEC_PER_SEC)

enum { INTERVAL = 60, GRACE = 60 };

static const int64_t wall_start = 1700000000LL * USEC_PER_SEC, mono_start = 5000LL * USEC_PER_SEC;

static const struct db_query set_interval = {
    .sql = "UPDATE agents SET interval_seconds = $1",
};
/* 100 seconds after the start, and then each day. */
static const struct db_query set_cron = {
    .sql = "INSERT INTO agent_schedules (tenant_id, agent_id, cron, time_zone, grace_seconds,"
           " paused, scheduled_at) SELECT tenant_id, agent_id, '15 22 * * *', 'UTC', 120, 0, 1"
           " FROM agents",
};
static const struct db_query add_poison = {
    .sql = "CREATE TRIGGER poison BEFORE INSERT ON alerts WHEN NEW.agent_id = 1"
           " BEGIN SELECT RAISE(ABORT, 'poison'); END",
};
/* $1 agents more, all of which were just heard of. */
static const struct db_query add_agents = {
    .sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)"
           " INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at, interval_seconds)"
           " SELECT $2, 'agent-' || i, 1, 1, $3 FROM n",
};
static const struct db_query add_signs = {
    .sql = "INSERT INTO agent_signs (tenant_id, agent_id, last_seen_at)"
           " SELECT tenant_id, agent_id, $1 FROM agents WHERE agent_name LIKE 'agent-%'",
};
static const struct db_query disable = { .sql = "UPDATE agents SET enabled = 0" };
static const struct db_query count_open = { .sql = "SELECT COUNT(*) FROM alerts WHERE open = 1" };
static const struct db_query count_all = { .sql = "SELECT COUNT(*) FROM alerts" };

struct world {
    struct txn txn;
    struct db *db, *reader;
    struct agent_cache *cache;
    struct writer *writer;
    struct watching *silence;
    struct tick now;
    int64_t tenant_id, agent_id;
};

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void see(struct world *w, int64_t at)
{
    struct sighting sighting = { .tenant_id = w->tenant_id, .agent_id = w->agent_id, .at = at };

    CHECK(sightings_put(w->db, &sighting, 1, at, NULL) == 0);
    agent_cache_seen(w->cache, agent_cache_get(w->cache, w->tenant_id, w->agent_id), at);
}

static void world_watch(struct world *w)
{
    const struct watch_env env = { .db = w->reader, .writer = w->writer, .agents = w->cache };

    w->silence = watch_new(&silence_watch, &env, &w->now);
}

static void world_init(struct world *w)
{
    struct tenant_row tenant = { .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 9 };
    const char *url = temp_db_migrated();
    struct writer_options writer = { .n_txns = 1,
                                     .limits = { 10, 10, 10, 0 },
                                     .on_fatal = on_fatal };
    struct agent_row agent;

    *w = (struct world){ .db = temp_db_open(url, DB_WRITER),
                         .cache = agent_cache_new(),
                         .now = { wall_start, mono_start, 0, true } };
    CHECK(tenant_add(w->db, &tenant, NULL) == 0);
    CHECK(agents_add(w->db, tenant.tenant_id, STR_LIT("a"), 1, &agent, NULL) == 0);
    CHECK(db_exec(w->db, &set_interval, DB_ARGS(db_int(INTERVAL)), NULL, NULL, NULL) == 0);
    w->tenant_id = tenant.tenant_id;
    w->agent_id = agent.agent_id;
    see(w, wall_start);
    w->reader = temp_db_open(url, DB_READER);
    w->txn.db = w->db;
    writer.txns = &w->txn;
    CHECK(writer_new(&writer, &w->writer, NULL) == 0);
    world_watch(w);
}

static void world_done(struct world *w)
{
    writer_free(w->writer);
    watch_free(w->silence);
    agent_cache_free(w->cache);
    db_close(w->reader);
    db_close(w->db);
}

static int nothing(void *ctx, struct db *db, struct error *err)
{
    (void)ctx;
    (void)db;
    (void)err;
    return 0;
}

/* A tick with clocks that have moved so far, and what it asked of the writer done. */
static void tick(struct world *w, int64_t wall_s, int64_t mono_s, int64_t raw_s, bool healthy)
{
    w->now.wall_us += S(wall_s);
    w->now.mono_us += S(mono_s);
    w->now.raw_us += S(raw_s);
    w->now.healthy = healthy;
    CHECK(watch_tick(w->silence, &w->now, 0, NULL) == 0);
    CHECK(writer_run_and_wait(w->writer, nothing, NULL, NULL) == 0); /* after what was submitted */
}

static void ticks(struct world *w, int n)
{
    for (int i = 0; i < n; i++)
        tick(w, 1, 1, 1, true);
}

static int64_t n_open(struct world *w)
{
    return temp_db_int(w->reader, &count_open, DB_NO_ARGS);
}

TEST(an_alert_opens_with_the_second_that_ends_the_grace)
{
    struct world w;

    world_init(&w);
    ticks(&w, INTERVAL + GRACE - 1);
    CHECK_INT(n_open(&w), 0);
    ticks(&w, 1);
    CHECK_INT(n_open(&w), 1);
    ticks(&w, 3 * (INTERVAL + GRACE));
    CHECK_INT(temp_db_int(w.reader, &count_all, DB_NO_ARGS), 1);
    world_done(&w);
}

TEST(what_is_heard_here_counts_before_it_is_stored)
{
    struct world w;

    world_init(&w);
    ticks(&w, INTERVAL + GRACE - 1);
    agent_cache_seen(w.cache, agent_cache_get(w.cache, w.tenant_id, w.agent_id), w.now.wall_us);
    ticks(&w, INTERVAL + GRACE - 1);
    CHECK_INT(n_open(&w), 0);
    ticks(&w, 1);
    CHECK_INT(n_open(&w), 1);
    world_done(&w);
}

/* Whatever kept us from hearing, everybody has the whole allowance again. */
TEST(nobody_is_blamed_for_what_we_did_not_hear)
{
    static const struct {
        const char *what;
        int64_t wall, mono, raw;
        bool healthy;
    } rows[] = {
        { "the clock is set ahead", 86400, 1, 1, true },
        { "the clock is set back", -86400, 1, 1, true },
        { "the clock strays a little too far", 4, 1, 1, true },
        { "the process was stopped", 3600, 3600, 3600, true },
        { "the database was away", 1, 1, 1, false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w;

        world_init(&w);
        ticks(&w, INTERVAL + GRACE - 5);
        tick(&w, rows[i].wall, rows[i].mono, rows[i].raw, rows[i].healthy);
        ticks(&w, INTERVAL + GRACE - 1);
        if (n_open(&w) != 0)
            fail_msg("%s: an alert too early", rows[i].what);
        ticks(&w, 2);
        if (n_open(&w) != 1)
            fail_msg("%s: no alert", rows[i].what);
        world_done(&w);
    }
}

/* What was due and not yet silent then has its grace again, and not a day. */
TEST(a_report_that_was_missed_before_an_outage_is_still_due_after_it)
{
    struct world w;

    world_init(&w);
    CHECK(db_exec(w.db, &set_cron, DB_NO_ARGS, NULL, NULL, NULL) == 0);
    ticks(&w, 160);
    tick(&w, 1, 1, 1, false);
    ticks(&w, 120);
    CHECK_INT(n_open(&w), 0);
    ticks(&w, 2);
    CHECK_INT(n_open(&w), 1);
    world_done(&w);
}

TEST(a_slow_tick_is_no_pause_and_a_slewing_clock_no_step)
{
    struct world w;

    world_init(&w);
    for (int i = 0; i < (INTERVAL + GRACE) / 10; i++)
        tick(&w, 11, 10, 10, true);
    CHECK_INT(n_open(&w), 1);
    world_done(&w);
}

/* Another process changed it, and we have not read it yet. */
TEST(the_interval_counts_as_it_is_when_the_alert_would_open)
{
    struct world w;

    world_init(&w);
    ticks(&w, INTERVAL + GRACE - 1); /* the last look at the store is some seconds old */
    CHECK(db_exec(w.db, &set_interval, DB_ARGS(db_int(86400)), NULL, NULL, NULL) == 0);
    ticks(&w, INTERVAL + GRACE);
    CHECK_INT(n_open(&w), 0);
    world_done(&w);
}

/* Signs from a process whose clock is two minutes ahead: it is heard of, whatever time they have.
 */
TEST(a_clock_that_is_ahead_elsewhere_makes_nobody_silent)
{
    struct world w;
    struct sighting sighting;

    world_init(&w);
    for (int i = 0; i < 4 * (INTERVAL + GRACE) / 30; i++) {
        sighting = (struct sighting){ .tenant_id = w.tenant_id,
                                      .agent_id = w.agent_id,
                                      .at = w.now.wall_us + S(120) };
        CHECK(sightings_put(w.db, &sighting, 1, sighting.at, NULL) == 0);
        ticks(&w, 30);
        CHECK_INT(n_open(&w), 0);
    }
    ticks(&w, 120 + INTERVAL + GRACE); /* nothing is heard */
    CHECK_INT(n_open(&w), 1);
    world_done(&w);
}

/* Between two looks at the store: its time is then ahead, and counts from when it was noticed. */
TEST(the_first_sign_is_known_at_once_also_when_the_clock_is_set_back)
{
    struct world w;
    struct agent_row agent;
    struct sighting sighting = { .at = wall_start };

    world_init(&w);
    CHECK(agents_add(w.db, w.tenant_id, STR_LIT("b"), 1, &agent, NULL) == 0);
    CHECK(db_exec(w.db, &set_interval, DB_ARGS(db_int(INTERVAL)), NULL, NULL, NULL) == 0);
    ticks(&w, 1);
    sighting.tenant_id = w.tenant_id;
    sighting.agent_id = agent.agent_id;
    CHECK(sightings_put(w.db, &sighting, 1, sighting.at, NULL) == 0);
    agent_cache_seen(w.cache, agent_cache_get(w.cache, w.tenant_id, agent.agent_id), sighting.at);
    tick(&w, -86400, 1, 1, true);
    ticks(&w, INTERVAL + GRACE - 1);
    CHECK_INT(n_open(&w), 0);
    ticks(&w, 1);
    CHECK_INT(n_open(&w), 2);
    world_done(&w);
}

/* Whatever is wrong with one agent, the others are told of. */
TEST(an_alert_that_cannot_open_keeps_no_other_from_it)
{
    struct sighting sighting = { .at = wall_start };
    struct agent_row agent;
    struct world w;

    world_init(&w);
    CHECK(agents_add(w.db, w.tenant_id, STR_LIT("b"), 1, &agent, NULL) == 0);
    CHECK(db_exec(w.db, &set_interval, DB_ARGS(db_int(INTERVAL)), NULL, NULL, NULL) == 0);
    sighting.tenant_id = w.tenant_id;
    sighting.agent_id = agent.agent_id;
    CHECK(sightings_put(w.db, &sighting, 1, sighting.at, NULL) == 0);
    CHECK(db_exec(w.db, &add_poison, DB_NO_ARGS, NULL, NULL, NULL) == 0);
    CHECK_INT(w.agent_id, 1);
    ticks(&w, INTERVAL + GRACE + 2);
    CHECK_INT(n_open(&w), 1);
    world_done(&w);
}

/* Another process may open the alert before we know: the sign that ends it is stored at once. */
TEST(the_next_sign_of_a_late_agent_is_awaited)
{
    struct world w;
    struct agent_entry *sighting;

    world_init(&w);
    sighting = agent_cache_get(w.cache, w.tenant_id, w.agent_id);
    ticks(&w, INTERVAL + GRACE / 2 - 1);
    CHECK(!agent_entry_take_urgent(sighting));
    ticks(&w, 1);
    CHECK(agent_entry_take_urgent(sighting));
    world_done(&w);
}

static size_t n_watched(struct world *w, int64_t now)
{
    struct watched_agents all = { 0 };
    size_t n;

    CHECK(watched_read(&all, w->reader, now, now + S(45), w->cache, NULL) == 0);
    n = all.n;
    watched_done(&all);
    return n;
}

TEST(a_read_that_failed_is_not_tried_again_at_once)
{
    struct world w;

    world_init(&w);
    ticks(&w, INTERVAL);
    CHECK(db_script(w.db, "ALTER TABLE agent_signs RENAME TO gone", NULL) == 0);
    w.now.wall_us += S(15);
    w.now.mono_us += S(15);
    w.now.raw_us += S(14);
    CHECK(watch_tick(w.silence, &w.now, 0, NULL) != 0);
    CHECK(watch_tick(w.silence, &w.now, 0, NULL) == 0); /* it rests */
    CHECK(db_script(w.db, "ALTER TABLE gone RENAME TO agent_signs", NULL) == 0);
    tick(&w, 14, 14, 14, true);
    ticks(&w, GRACE);
    CHECK_INT(n_open(&w), 1);
    world_done(&w);
}

/* Each read looks at all agents of all tenants. */
TEST(a_change_right_after_a_read_waits_its_turn)
{
    struct world w;

    world_init(&w);
    ticks(&w, INTERVAL + GRACE);
    CHECK_INT(n_open(&w), 1);
    tick(&w, 15, 15, 14, true);
    CHECK(db_run(w.db, &disable, DB_NO_ARGS, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        agent_cache_set_schedules_changed(w.cache);
        tick(&w, 0, 0, 0, true);
    }
    CHECK_INT(n_open(&w), 1);
    tick(&w, 15, 15, 14, true);
    CHECK_INT(n_open(&w), 0);
    world_done(&w);
}

/* So that a watch over millions costs what the few cost that are late. */
TEST(who_cannot_be_late_soon_is_not_read)
{
    struct world w;

    world_init(&w);
    CHECK_INT(n_watched(&w, wall_start + S(INTERVAL - 46)), 0);
    CHECK_INT(n_watched(&w, wall_start + S(INTERVAL - 45)), 1);
    CHECK_INT(n_watched(&w, wall_start - S(1)), 1); /* seen in the future: a clock is wrong */
    CHECK(db_exec(w.db, &set_interval, DB_ARGS(db_int(INT64_MAX)), NULL, NULL, NULL) == 0);
    CHECK_INT(n_watched(&w, wall_start + S(INTERVAL)), 0);
    CHECK(db_exec(w.db, &set_cron, DB_NO_ARGS, NULL, NULL, NULL) == 0);
    CHECK_INT(n_watched(&w, wall_start), 1); /* whatever its expression says */
    world_done(&w);
}

/* More than are submitted at a time. */
TEST(many_agents_that_fall_silent_at_once_have_an_alert_each)
{
    enum { AGENTS = 1200, SECONDS = 30 };
    struct world w;

    world_init(&w);
    CHECK(db_exec(w.db, &add_agents, DB_ARGS(db_int(AGENTS), db_int(w.tenant_id), db_int(SECONDS)),
                  NULL, NULL, NULL) == 0);
    CHECK(db_exec(w.db, &add_signs, DB_ARGS(db_int(wall_start)), NULL, NULL, NULL) == 0);
    ticks(&w, SECONDS);
    CHECK_INT(n_open(&w), 0);
    ticks(&w, 2 * GRACE);
    CHECK_INT(n_open(&w), 1 + AGENTS);
    world_done(&w);
}

/* A report that comes right after a start ends the silence at once. */
TEST(silent_agents_are_awaited_from_the_first_read_on)
{
    struct world w;

    world_init(&w);
    ticks(&w, INTERVAL + GRACE);
    watch_free(w.silence);
    agent_cache_free(w.cache);
    w.cache = agent_cache_new();
    world_watch(&w);
    CHECK(watch_tick(w.silence, &w.now, 0, NULL) == 0);
    CHECK(agent_entry_take_urgent(agent_cache_get(w.cache, w.tenant_id, w.agent_id)));
    world_done(&w);
}
