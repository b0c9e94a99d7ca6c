/* test_sqlite_expiry.c - what is old is found by its index, and no statement looks at the rest. */
#include "base/arena.h"
#include "base/buf.h"
#include "db/migrate.h"
#include "features/retention/expiry_store.h"
#include "suite.h"

/* Whether an index also has all columns that are read is left out: versions of SQLite differ. */
static bool add_detail(void *ctx, const struct db_row *row)
{
    static const struct str covering = STR_INIT(" COVERING");
    struct str detail = db_get_text(row, 3);
    const char *found = memmem(detail.data, detail.len, covering.data, covering.len);
    size_t before = found == NULL ? detail.len : (size_t)(found - detail.data);

    buf_add(ctx, str_from(detail.data, before));
    if (found != NULL)
        buf_add(ctx, str_from(found + covering.len, detail.len - before - covering.len));
    buf_add_char(ctx, '\n');
    return true;
}

#define SUBQUERY "LIST SUBQUERY 1\n"

TEST(every_statement_goes_by_an_index_and_within_bounds)
{
    static const struct {
        const struct db_query *query;
        const char *plan;
        const char *newer; /* that of SQLite 3.46; NULL: the same */
    } rows[] = {
        { &expiry_mark_runs,
          "SEARCH r USING INDEX runs_start (tenant_id=? AND (start_at,run_id)>(?,?)"
          " AND start_at<?)\nCORRELATED SCALAR SUBQUERY 2\nCO-ROUTINE newer\n"
          "SEARCH f USING INDEX runs_failed (tenant_id=? AND agent_id=? AND start_at>?)\n"
          "SCAN newer\n",
          NULL },
        { &expiry_delete_runs,
          "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)\n" SUBQUERY
          "SEARCH gone_runs USING PRIMARY KEY (tenant_id=?)\n",
          NULL },
        { &expiry_delete_events,
          "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)\n" SUBQUERY
          "SEARCH g USING PRIMARY KEY (tenant_id=?)\n"
          "SEARCH x USING PRIMARY KEY (run_no=?)\n"
          "SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n",
          NULL },
        { &expiry_select_business,
          "SEARCH business_runs USING INDEX business_runs_time"
          " (tenant_id=? AND timestamp<?)\n",
          NULL },
        { &expiry_delete_llm,
          "SEARCH llm_usage USING PRIMARY KEY (tenant_id=? AND timestamp=? AND "
          "agent_id=?)\n" SUBQUERY
          "SEARCH llm_usage USING PRIMARY KEY (tenant_id=? AND timestamp<?)\n" SUBQUERY
          "SEARCH llm_usage USING PRIMARY KEY (tenant_id=? AND timestamp<?)\n",
          "SEARCH llm_usage USING PRIMARY KEY (tenant_id=? AND timestamp=? AND agent_id=? AND "
          "run_id=? AND model=?)\n" SUBQUERY
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
        if (rows[i].newer == NULL || !str_eq_c(buf_str(&plan), rows[i].newer))
            CHECK_STR(buf_str(&plan), rows[i].plan);
    }
    buf_done(&plan);
    db_close(db);
    arena_done(&arena);
}
