/* test_breakdowns_store.c - reading the breakdowns of a range costs as much as there are. */
#include "features/kpis/kpi_reads.h"

#include "base/buf.h"
#include "unit/features/events/log_world.h"

static bool add_detail(void *ctx, const struct db_row *row)
{
    buf_add(ctx, db_get_text(row, 3));
    buf_add_char(ctx, '\n');
    return true;
}

/* Else every breakdown of the range would be compared with all sets, or all others be read. */
TEST(breakdowns_are_found_by_time_and_their_sets_by_an_index)
{
    static struct db_query explain[2];
    const struct db_query *const queries[] = { &breakdown_runs_query, &breakdowns_query };
    const struct db_args args = DB_ARGS(db_int(1), db_text(STR_LIT("m")), db_int(0), db_int(9),
                                        db_int(0), db_text(STR_LIT("{\"x\":0}")));
    struct error err = { 0 };
    struct log_world w;

    log_world_init(&w);
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        struct buf plan;

        buf_init(&plan, KIB(4));
        explain[i].sql = arena_printf(&w.arena, "EXPLAIN QUERY PLAN %s", queries[i]->sqlite).data;
        log_must(db_exec(w.db, &explain[i], args, add_detail, &plan, &err), &err);
        buf_add_char(&plan, '\0');
        CHECK(strstr(plan.data, "SEARCH b USING INDEX business_breakdowns_time (tenant_id=? AND "
                                "metric=? AND timestamp>? AND timestamp<?)") == plan.data);
        CHECK(strstr(plan.data, "CORRELATED") == NULL && strstr(plan.data, "SCAN b") == NULL);
        buf_done(&plan);
    }
    log_world_done(&w);
}
