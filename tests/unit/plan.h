/* plan.h - what SQLite reads to answer a query. */
#pragma once
#include "base/buf.h"
#include "db/db.h"
#include "unit/temp_db.h"

static inline bool plan_add(void *ctx, const struct db_row *row)
{
    buf_add(ctx, db_get_text(row, 3));
    buf_add_char(ctx, '\n');
    return true;
}

/* Of a query in a new database, whose tables say nothing about how large they become. */
static inline void plan_check(const struct db_query *query, struct db_args args, const char *first)
{
    static struct db_query explain;
    struct db *db = temp_db_open(temp_db_migrated(), DB_WRITER);
    struct error err = { 0 };
    struct arena arena;
    struct buf plan;

    arena_init(&arena);
    buf_init(&plan, KIB(4));
    explain.sql = arena_printf(&arena, "EXPLAIN QUERY PLAN %s",
                               query->sqlite != NULL ? query->sqlite : query->sql)
                      .data;
    if (db_exec(db, &explain, args, plan_add, &plan, &err) != 0)
        fail_msg("%s", err.text);
    buf_add_char(&plan, '\0');
    if (strncmp(plan.data, first, strlen(first)) != 0)
        fail_msg("the plan is\n%s", plan.data);
    buf_done(&plan);
    db_close(db);
    arena_done(&arena);
}
