/* test_driver_usage.c - what runs spent is read by their ids, not from all reports of their time.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "db/migrate.h"
#include "features/cost/reports.h"
#include "shape/shape.h"
#include "suite.h"

enum { RUNS = 2000, PAGE = 50 };

static const struct db_query add_report = {
    .sql = "INSERT INTO llm_usage (tenant_id, timestamp, agent_id, run_id, model, received_at,"
           " input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls,"
           " agent_version) VALUES (1, $1, 1, $2, 'm', 1, 7, 0, 0, 0, 1, '')",
};

static struct str id_of(struct arena *arena, int run)
{
    return arena_printf(arena, "3f2b8c1e-9a4d-4e6f-8b7a-%012d", run);
}

/* Many runs with a report each, all of the same time. */
static struct db *filled(struct arena *arena)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    if (store_migrate(db, &err) != 0 || db_begin(db, &err) != 0)
        fail_msg("%s", err.text);
    for (int run = 0; run < RUNS; run++)
        suite_exec(db, &add_report, DB_ARGS(db_int(run % 10), db_text(id_of(arena, run))));
    if (db_commit(db, &err) != 0)
        fail_msg("%s", err.text);
    return db;
}

static bool add_line(void *ctx, const struct db_row *row)
{
    const bool postgres = db_columns(row) == 1;

    buf_add(ctx, db_get_text(row, postgres ? 0 : 3));
    buf_add_char(ctx, '\n');
    return true;
}

/* How the statement finds its rows, in the words of the database. */
static void plan_of(struct db *db, const struct db_query *q, struct db_args args, struct buf *ret)
{
    static struct db_query explain[4];
    static char texts[COUNT_OF(explain)][1024];
    static size_t n;
    const bool postgres = strcmp(db_dialect(db), "postgres") == 0;
    struct error err = { 0 };

    assert_true(n < COUNT_OF(explain));
    (void)snprintf(texts[n], sizeof(texts[n]), "%s %s",
                   postgres ? "EXPLAIN (ANALYZE, COSTS OFF)" : "EXPLAIN QUERY PLAN",
                   postgres ? q->postgres : q->sqlite);
    explain[n].sql = texts[n];
    if (db_exec(db, &explain[n++], args, add_line, ret, &err) != 0)
        fail_msg("%s", err.text);
    buf_add_char(ret, '\0');
}

/* The ids of a page of runs as an array of the dialect. */
static struct str ids_of_page(struct arena *arena, bool postgres)
{
    struct str ids = STR_LIT("");

    for (int run = 0; run < PAGE; run++) {
        const struct str id = id_of(arena, run);

        ids = arena_printf(arena, "%.*s%s\"%.*s\"", STR_ARG(ids), run > 0 ? "," : "", STR_ARG(id));
    }
    return arena_printf(arena, postgres ? "{%.*s}" : "[%.*s]", STR_ARG(ids));
}

TEST(what_runs_spent_is_found_by_their_ids)
{
    struct arena arena;
    struct db *db;

    arena_init(&arena);
    db = filled(&arena);
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        const bool postgres = strcmp(db_dialect(db), "postgres") == 0;
        const struct str ids = ids_of_page(&arena, postgres);
        struct buf plan;

        buf_init(&plan, KIB(64));
        plan_of(db, &llm_usage_of_runs, DB_ARGS(db_int(1), db_text(ids)), &plan);
        if (strstr(plan.data, postgres ? "llm_usage_run" : "(tenant_id=? AND run_id=?)") == NULL ||
            strstr(plan.data, "Filter") != NULL || strstr(plan.data, "Seq Scan") != NULL ||
            strstr(plan.data, "SCAN llm_usage") != NULL)
            fail_msg("%s", plan.data);
        buf_done(&plan);
        suite_script(db, "ANALYZE");
    }
    db_close(db);
    arena_done(&arena);
}

struct seen {
    char text[256];
};

static void see(void *ctx, const struct llm_row *row)
{
    struct seen *seen = ctx;
    size_t used = strlen(seen->text);

    (void)snprintf(seen->text + used, sizeof(seen->text) - used, "%.*s: %lld\n",
                   STR_ARG(row->run_id), (long long)row->counts.input);
}

TEST(reports_of_other_runs_are_not_read)
{
    struct seen seen = { "" };
    struct error err = { 0 };
    struct arena arena;
    struct str ids[3];
    struct db *db;

    arena_init(&arena);
    db = filled(&arena);
    ids[0] = id_of(&arena, 7);
    ids[1] = id_of(&arena, 3);
    ids[2] = id_of(&arena, RUNS);
    suite_exec(db, &add_report, DB_ARGS(db_int(99), db_text(ids[0])));
    if (llm_usage_read_of_runs(db, 1, &(struct list){ ids, 3 }, see, &seen, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(seen.text, "3f2b8c1e-9a4d-4e6f-8b7a-000000000003: 7\n"
                                   "3f2b8c1e-9a4d-4e6f-8b7a-000000000007: 7\n"
                                   "3f2b8c1e-9a4d-4e6f-8b7a-000000000007: 7\n");
    db_close(db);
    arena_done(&arena);
}
