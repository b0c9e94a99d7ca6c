/* test_breakdowns_store.c - reading the breakdowns of a range costs as much as there are. */
#include "features/kpis/breakdowns_store.h"

#include "base/buf.h"
#include "unit/features/events/log_world.h"

static bool add_detail(void *ctx, const struct db_row *row)
{
    buf_add(ctx, db_get_text(row, 3));
    buf_add_char(ctx, '\n');
    return true;
}

/* Else every breakdown of the range would be held against all others. */
TEST(what_else_a_run_reported_is_looked_up_by_the_run)
{
    static struct db_query explain;
    const struct db_args args =
        DB_ARGS(db_int(1), db_text(STR_LIT("m")), db_int(0), db_int(9), db_int(0),
                db_text(STR_LIT("[\"x\"]")), db_text(STR_LIT("[]")));
    struct error err = { 0 };
    struct log_world w;
    struct buf plan;

    log_world_init(&w);
    buf_init(&plan, KIB(4));
    explain = (struct db_query){
        .sql = arena_printf(&w.arena, "EXPLAIN QUERY PLAN %s", breakdowns_query.sqlite).data,
    };
    log_must(db_exec(w.db, &explain, args, add_detail, &plan, &err), &err);
    buf_add_char(&plan, '\0');
    CHECK(strstr(plan.data, "SEARCH o USING INDEX business_breakdowns_id (tenant_id=? AND "
                            "run_no=? AND metric=?") != NULL);
    buf_done(&plan);
    log_world_done(&w);
}
