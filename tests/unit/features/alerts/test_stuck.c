/* test_stuck.c - which runs are stuck, by clocks that step, and among other tenants' runs. */
#include "features/alerts/watch.h"

#include "base/clock.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/tenants.h"
#include "features/agents/agents_store.h"
#include "unit/temp_db.h"

#define S(seconds) ((int64_t)(seconds) * USEC_PER_SEC)

enum { HOUR = 3600, DAY = 86400, REST = 600, OF_AGENT = 20 };

static const int64_t now_start = 1700000000LL * USEC_PER_SEC, mono_start = 5000LL * USEC_PER_SEC;

static const struct db_query add_run = {
    .sql =
        "INSERT INTO runs (tenant_id, run_id, agent_id, event_count, start_at, first_at, last_at,"
        " closing_seq, closing_event, closing_message, step_seq, step_message, version_seq,"
        " agent_version) VALUES ($1, $2, $3, 1, $4, $4, $4, 0, 0, '', 0, '', 0, '')",
};
static const struct db_query count_open = {
    .sql = "SELECT COUNT(*) FROM alerts WHERE open = 1 AND tenant_id = $1",
};

struct world {
    struct txn txn;
    struct db *db, *reader;
    struct writer *writer;
    struct watching *stuck;
    int64_t wall_us, mono_us, epoch_us;
    int64_t tenants[2], agents[2];
};

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void world_init(struct world *w, int64_t wall_us)
{
    const char *url = temp_db_migrated();
    struct watch_env env;
    struct tick now;
    struct writer_options writer = { .n_txns = 1,
                                     .limits = { 10, 10, 10, 0 },
                                     .on_fatal = on_fatal };

    *w = (struct world){ .db = temp_db_open(url, DB_WRITER),
                         .wall_us = wall_us,
                         .mono_us = mono_start,
                         .epoch_us = mono_start };
    for (size_t i = 0; i < COUNT_OF(w->tenants); i++) {
        struct tenant_row tenant = { .slug = i == 0 ? STR_LIT("a") : STR_LIT("b"),
                                     .name = STR_LIT(""),
                                     .max_agents = 9 };
        struct agent_row agent;

        CHECK(tenant_add(w->db, &tenant, NULL) == 0);
        CHECK(agents_add(w->db, tenant.tenant_id, STR_LIT("x"), 1, &agent, NULL) == 0);
        w->tenants[i] = tenant.tenant_id;
        w->agents[i] = agent.agent_id;
    }
    w->reader = temp_db_open(url, DB_READER);
    w->txn.db = w->db;
    writer.txns = &w->txn;
    CHECK(writer_new(&writer, &w->writer, NULL) == 0);
    now = (struct tick){ w->wall_us, w->mono_us, 0, true };
    env = (struct watch_env){ .db = w->reader, .writer = w->writer };
    w->stuck = watch_new(&stuck_watch, &env, &now);
}

static void world_done(struct world *w)
{
    writer_free(w->writer);
    watch_free(w->stuck);
    db_close(w->reader);
    db_close(w->db);
}

/* Open runs of tenant `i` that began at this time. */
static void begin_runs(struct world *w, size_t i, int n, int64_t start_at)
{
    char id[40];

    for (int k = 0; k < n; k++) {
        (void)snprintf(id, sizeof(id), "00000000-0000-0000-0000-%012d", k);
        CHECK(db_exec(w->db, &add_run,
                      DB_ARGS(db_int(w->tenants[i]), db_text(str_of(id)), db_int(w->agents[i]),
                              db_int(start_at)),
                      NULL, NULL, NULL) == 0);
    }
}

static int nothing(void *ctx, struct db *db, struct error *err)
{
    (void)ctx;
    (void)db;
    (void)err;
    return 0;
}

/* Ticks every `step_s` seconds, for so long; what each asked of the writer is done. */
static void run_for(struct world *w, int64_t seconds, int64_t step_s)
{
    for (int64_t t = 0; t < seconds; t += step_s) {
        const struct tick now = { w->wall_us + S(step_s), w->mono_us + S(step_s), w->mono_us,
                                  true };

        w->wall_us = now.wall_us;
        w->mono_us = now.mono_us;
        CHECK(watch_tick(w->stuck, &now, w->epoch_us, NULL) == 0);
        CHECK(writer_run_and_wait(w->writer, nothing, NULL, NULL) ==
              0); /* after what was submitted */
    }
}

static int64_t n_open(struct world *w, size_t i)
{
    return temp_db_int(w->reader, &count_open, DB_ARGS(db_int(w->tenants[i])));
}

/* More runs than one look takes, all of one start, and no room for alerts of most. */
TEST(many_runs_of_one_start_hold_up_nobody)
{
    struct world w;

    world_init(&w, now_start);
    begin_runs(&w, 0, 500, now_start - S(DAY));
    begin_runs(&w, 1, 1, now_start - S(DAY) + S(1));
    run_for(&w, REST + 60, 60);
    run_for(&w, 30, 1);
    CHECK_INT(n_open(&w, 0), OF_AGENT);
    CHECK_INT(n_open(&w, 1), 1);
    world_done(&w);
}

TEST(what_comes_after_many_of_one_start_is_looked_at_too)
{
    struct agent_row other;
    struct world w;

    world_init(&w, now_start);
    begin_runs(&w, 0, 500, now_start - S(DAY));
    CHECK(agents_add(w.db, w.tenants[0], STR_LIT("y"), 1, &other, NULL) == 0);
    w.agents[0] = other.agent_id;
    begin_runs(&w, 0, 1, now_start - S(DAY - 1));
    run_for(&w, REST + 60, 60);
    run_for(&w, 30, 1);
    CHECK_INT(n_open(&w, 0), OF_AGENT + 1);
    world_done(&w);
}

TEST(a_clock_that_is_set_ahead_makes_no_run_stuck)
{
    struct world w;

    world_init(&w, now_start);
    begin_runs(&w, 0, 1, now_start - S(HOUR));
    run_for(&w, HOUR, 60);
    w.wall_us += S(DAY);
    w.epoch_us = w.mono_us;
    run_for(&w, 20 * HOUR, 60);
    CHECK_INT(n_open(&w, 0), 0);
    run_for(&w, 4 * HOUR, 60);
    CHECK_INT(n_open(&w, 0), 1);
    world_done(&w);
}

/* No clock of its own at the start: 1970, until it is known. */
TEST(a_clock_that_was_behind_at_the_start_is_believed_after_a_day)
{
    struct world w;

    world_init(&w, S(HOUR));
    run_for(&w, 60, 60);
    w.wall_us = now_start;
    w.epoch_us = w.mono_us;
    begin_runs(&w, 0, 1, now_start);
    run_for(&w, DAY - 60, 60);
    CHECK_INT(n_open(&w, 0), 0);
    run_for(&w, 180, 60);
    CHECK_INT(n_open(&w, 0), 1);
    world_done(&w);
}
