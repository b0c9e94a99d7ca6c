/* test_postgres_expiry.c - what is old is found by its index, whatever is known of the tables, and
 * business runs go as a whole. */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "db/migrate.h"
#include "features/retention/expiry_store.h"
#include "suite.h"

#define ID "00000000-0000-0000-0000-000000000000"

static const char fill[] =
    "INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at) VALUES"
    " ('acme', '', 9, 9, 0);"
    "INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at) VALUES (1, 'a', 1, 0);"
    "INSERT INTO runs (tenant_id, run_id, agent_id, event_count, start_at, first_at, last_at,"
    " closing_at, closing_event)"
    " SELECT 1, md5(i::text)::uuid, 1, 2, i, i, i, i, 1 + i % 2 FROM generate_series(1, 20000) i;"
    "INSERT INTO events (tenant_id, run_no, agent_id, event_id, event, timestamp, received_at, seq,"
    " agent_version, message, level, category, source, checksum)"
    " SELECT 1, 1 + i % 20000, 1, i::text, 1, i, i, 0, '', '', '', '', '', 0"
    " FROM generate_series(1, 40000) i;"
    "INSERT INTO business_runs (tenant_id, agent_id, run_id, timestamp, agent_version)"
    " SELECT 1, 1, md5(i::text), i, '' FROM generate_series(1, 20000) i;"
    "INSERT INTO business_values SELECT 1, i, 'k', NULL, 1, i, i, i, NULL, NULL"
    " FROM generate_series(1, 20000) i;"
    "INSERT INTO business_breakdowns SELECT 1, i, 'm', '[]', NULL, 1, i, i, '[]'"
    " FROM generate_series(1, 20000) i;"
    "INSERT INTO llm_usage SELECT 1, i, 1, md5(i::text), 'm', i, 0, 0, 0, 0, 0, '', NULL"
    " FROM generate_series(1, 20000) i;"
    "INSERT INTO gone_runs SELECT 1, i FROM generate_series(1, 100) i";

static bool add_line(void *ctx, const struct db_row *row)
{
    buf_add(ctx, db_get_text(row, 0));
    buf_add_char(ctx, '\n');
    return true;
}

static void check_plan(struct db *db, const struct db_query *q, const char *args)
{
    static struct db_query explain[40]; /* its address is the key of a statement */
    static size_t n;
    struct error err = { 0 };
    struct arena arena;
    struct buf plan;

    arena_init(&arena);
    buf_init(&plan, KIB(64));
    suite_script(db, arena_printf(&arena, "DEALLOCATE ALL; PREPARE p AS %s", q->postgres).data);
    assert_true(n < COUNT_OF(explain));
    explain[n] =
        (struct db_query){ .sql = arena_printf(&arena, "EXPLAIN EXECUTE p(%s)", args).data };
    if (db_exec(db, &explain[n++], DB_NO_ARGS, add_line, &plan, &err) != 0)
        fail_msg("%s", err.text);
    buf_add_char(&plan, 0);
    if (strstr(plan.data, "Seq Scan on runs") != NULL ||
        strstr(plan.data, "Seq Scan on events") != NULL ||
        strstr(plan.data, "Seq Scan on business_") != NULL ||
        strstr(plan.data, "Seq Scan on llm_usage") != NULL)
        fail_msg("%s", plan.data);
    buf_done(&plan);
    arena_done(&arena);
}

TEST(old_rows_are_found_by_an_index_before_and_after_analyze)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    if (store_migrate(db, &err) != 0)
        fail_msg("%s", err.text);
    suite_script(db, fill);
    for (int round = 0; round < 4; round++) {
        check_plan(db, &expiry_mark_runs, "1, 15000, 100, '" ID "', 200, '" ID "', 15000, 10");
        check_plan(db, &expiry_delete_runs, "1");
        check_plan(db, &expiry_delete_events, "1, 50");
        check_plan(db, &expiry_select_business, "1, 15000, 50");
        check_plan(db, &expiry_count_rows, "1, '{3,4,5}', 50");
        check_plan(db, &expiry_delete_values, "1, '{3,4,5}', 50");
        check_plan(db, &expiry_delete_breakdowns, "1, '{3,4,5}', 50");
        check_plan(db, &expiry_delete_business_runs, "1, '{3,4,5}'");
        check_plan(db, &expiry_delete_llm, "1, 15000, 50");
        suite_script(db, round == 1 ? "SET plan_cache_mode = force_generic_plan" : "ANALYZE");
    }
    db_close(db);
}

/* With 8 more values for each run, and very many for one; what is left in between is for the next
 * call. */
TEST(business_runs_are_deleted_with_all_their_rows)
{
    static const struct db_query halves = {
        .sql = "SELECT COUNT(*) FROM business_runs r WHERE (SELECT COUNT(*) FROM business_values v"
               " WHERE v.tenant_id = 1 AND v.run_no = r.run_no) <> CASE WHEN r.run_no = 301 THEN"
               " 2509 ELSE 9 END OR NOT EXISTS (SELECT 1 FROM business_breakdowns b"
               " WHERE b.tenant_id = 1 AND b.run_no = r.run_no)",
    };
    static const struct db_query runs = {
        .sql = "SELECT COUNT(*) FROM business_runs WHERE timestamp <= 400",
    };
    static const struct db_query orphans = {
        .sql = "SELECT COUNT(*) FROM business_values v WHERE NOT EXISTS (SELECT 1 FROM"
               " business_runs r WHERE r.tenant_id = 1 AND r.run_no = v.run_no)",
    };
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    const struct expiry_reports which = { .tenant_id = 1,
                                          .before = 401,
                                          .max = expiry_portion(db) };
    struct expired_reports gone = { .rows = 1 };
    struct error err = { 0 };
    int64_t reports = 0;

    if (store_migrate(db, &err) != 0)
        fail_msg("%s", err.text);
    suite_script(db, fill);
    suite_script(db, "INSERT INTO business_values SELECT 1, i, 'k' || j, NULL, 1, i, i, i, NULL,"
                     " NULL FROM generate_series(1, 20000) i, generate_series(1, 8) j;"
                     "INSERT INTO business_values SELECT 1, 301, 'm' || j, NULL, 1, 301, 301, 301,"
                     " NULL, NULL FROM generate_series(1, 2500) j");
    while (gone.rows > 0) {
        if (db_begin(db, &err) != 0 || expire_business(db, &which, &gone, &err) != 0 ||
            db_commit(db, &err) != 0)
            fail_msg("%s", err.text);
        CHECK(gone.rows <= 3 * which.max);
        CHECK(suite_int(db, &halves) <= (reports >= 300 && reports < 301)); /* the large one */
        CHECK_INT(suite_int(db, &orphans), 0);
        reports += gone.reports;
        CHECK_INT(suite_int(db, &runs), 400 - reports);
    }
    CHECK_INT(reports, 400);
    db_close(db);
}
