/* test_sqlite_expiry.c - what is old is found by its index, and no statement looks at the rest. */
#include "base/arena.h"
#include "base/buf.h"
#include "db/migrate.h"
#include "features/retention/expiry_store.h"
#include "suite.h"

static bool add_detail(void *ctx, const struct db_row *row)
{
    buf_add(ctx, db_get_text(row, 3));
    buf_add_char(ctx, '\n');
    return true;
}

#define SUBQUERY "LIST SUBQUERY 1\n"

TEST(every_statement_goes_by_an_index_and_within_bounds)
{
    static const struct {
        const struct db_query *query;
        const char *plan;
    } rows[] = {
        { &expiry_mark_runs,
          "SEARCH r USING INDEX runs_start (tenant_id=? AND (start_at,run_id)>(?,?)"
          " AND start_at<?)\nCORRELATED SCALAR SUBQUERY 2\nCO-ROUTINE newer\n"
          "SEARCH f USING INDEX runs_failed (tenant_id=? AND agent_id=? AND start_at>?)\n"
          "SCAN newer\n" },
        { &expiry_delete_runs, "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)\n" SUBQUERY
                               "SEARCH gone_runs USING PRIMARY KEY (tenant_id=?)\n" },
        { &expiry_delete_events, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)\n" SUBQUERY
                                 "SEARCH g USING PRIMARY KEY (tenant_id=?)\n"
                                 "SEARCH x USING PRIMARY KEY (run_no=?)\n"
                                 "SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n" },
        { &expiry_select_business, "SEARCH business_runs USING COVERING INDEX business_runs_time"
                                   " (tenant_id=? AND timestamp<?)\n" },
        { &expiry_delete_llm,
          "SEARCH llm_usage USING PRIMARY KEY (tenant_id=? AND timestamp=? AND "
          "agent_id=?)\n" SUBQUERY
          "SEARCH llm_usage USING PRIMARY KEY (tenant_id=? AND timestamp<?)\n" SUBQUERY
          "SEARCH llm_usage USING PRIMARY KEY (tenant_id=? AND timestamp<?)\n" },
    };
    static struct db_query explain[COUNT_OF(rows)];
    const struct db_args args = DB_ARGS(db_int(1), db_int(1), db_int(1), db_int(1), db_int(1),
                                        db_int(1), db_int(1), db_int(1));
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };
    struct arena arena;
    struct buf plan;

    arena_init(&arena);
    buf_init(&plan, KIB(4));
    CHECK(store_migrate(db, &err) == 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        explain[i] = (struct db_query){
            .sql = arena_printf(&arena, "EXPLAIN QUERY PLAN %s", rows[i].query->sqlite).data,
        };
        buf_clear(&plan);
        CHECK(db_exec(db, &explain[i], args, add_detail, &plan, &err) == 0);
        CHECK_STR(buf_str(&plan), rows[i].plan);
    }
    buf_done(&plan);
    db_close(db);
    arena_done(&arena);
}
