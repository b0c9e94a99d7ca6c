/* test_postgres_run_list.c - PostgreSQL reads pages of runs from their index, whatever it knows. */
#include "base/arena.h"
#include "base/buf.h"
#include "db/migrate.h"
#include "features/events/run_list.h"
#include "suite.h"

static const char fill[] =
    "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at) VALUES ('t', '', 9, 9, "
    "1);"
    "INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at) VALUES (1, 'a', 1, 1);"
    "INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at) VALUES (1, 'b', 1, 1);"
    "INSERT INTO runs (tenant_id, run_id, agent_id, start_at, workflow_run_id)"
    " SELECT 1, md5(i::text)::uuid, 1 + i % 2, i, 'w' || i % 100 FROM generate_series(1, 20000) AS "
    "i;"
    "SET plan_cache_mode = force_generic_plan";

#define ID "00000000-0000-0000-0000-000000000000"

static bool add_line(void *ctx, const struct db_row *row)
{
    buf_add(ctx, db_get_text(row, 0));
    buf_add_char(ctx, '\n');
    return true;
}

/* The plan that is kept for any parameters. */
static void check_plan(struct db *db, const struct db_query *q, const char *value,
                       const char *index)
{
    static struct db_query explain[12];
    static size_t n;
    struct error err = { 0 };
    struct arena arena;
    struct buf plan;

    arena_init(&arena);
    buf_init(&plan, KIB(64));
    suite_script(db, arena_printf(&arena, "DEALLOCATE ALL; PREPARE p AS %s", q->sql).data);
    assert_true(n < COUNT_OF(explain));
    explain[n] = (struct db_query){
        .sql =
            arena_printf(&arena, "EXPLAIN EXECUTE p(1, 9, '" ID "', 1, '" ID "', 51%s)", value).data
    };
    if (db_exec(db, &explain[n++], DB_NO_ARGS, add_line, &plan, &err) != 0)
        fail_msg("%s", err.text);
    buf_add_char(&plan, 0);
    if (strstr(plan.data, arena_printf(&arena, "Backward using %s on runs r", index).data) ==
            NULL ||
        strstr(plan.data, "Sort") != NULL)
        fail_msg("%s: %s", index, plan.data);
    buf_done(&plan);
    arena_done(&arena);
}

TEST(pages_of_runs_are_read_from_the_index_before_and_after_analyze)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    if (store_migrate(db, &err) != 0)
        fail_msg("%s", err.text);
    suite_script(db, fill);
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        check_plan(db, &run_list_page, "", "runs_start");
        check_plan(db, &run_list_floor, "", "runs_start");
        check_plan(db, &run_list_agent_page, ", 1", "runs_agent");
        check_plan(db, &run_list_agent_floor, ", 1", "runs_agent");
        check_plan(db, &run_list_workflow_page, ", 'w'", "runs_workflow");
        check_plan(db, &run_list_workflow_floor, ", 'w'", "runs_workflow");
        suite_script(db, "ANALYZE");
    }
    db_close(db);
}
