/* backup_store.c - SQL that copies or checks a whole database, or adds up a tenant's rows. */
#include "features/retention/backup_store.h"

#include <string.h>

#include "db/db.h"
#include "db/migrate.h"
#include "db/row_sum.h"
#include "features/access/stored_bytes.h"
#include "features/agents/agents.h"
#include "features/alerts/alerts.h"
#include "features/cost/report_sums.h"
#include "features/events/event_days.h"
#include "features/events/event_rows.h"
#include "features/kpis/report_sums.h"
#include "shape/rows.h"

static const struct db_query vacuum_into = { .sqlite = "VACUUM INTO $1" };
/* Without a limit of its own: add_problem() says when there are too many to print. */
static const struct db_query integrity_check = { .sqlite = "PRAGMA integrity_check(1000000)" };
static const struct db_query foreign_key_check = { .sqlite = "PRAGMA foreign_key_check" };

int backup_copy(struct db *db, const char *path, struct error *err)
{
    /* With a directory, so that no name is special, such as ":memory:". */
    ARENA_SCOPED(arena);

    return db_run(db, &vacuum_into,
                  DB_ARGS(db_text(arena_printf(&arena, "%s%s", path[0] == '/' ? "" : "./", path))),
                  err);
}

/* The last one that fits says that there may be others. */
static bool add_sentence(struct rows *rows, struct str text)
{
    if (rows->n < STORE_PROBLEMS_MAX)
        *(struct str *)rows_add(rows) = text;
    if (rows->n == STORE_PROBLEMS_MAX)
        *(struct str *)rows_add(rows) =
            arena_printf(rows->arena, "there may be more problems: only the first %d are listed",
                         STORE_PROBLEMS_MAX);
    return rows->n < STORE_PROBLEMS_MAX;
}

static bool add_problem(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct str text = db_get_text(row, 0);

    return str_eq_c(text, "ok") || add_sentence(rows, arena_copy(rows->arena, text));
}

static bool add_orphan(void *ctx, const struct db_row *row)
{
    const struct str table = db_get_text(row, 0), parent = db_get_text(row, 2);
    struct rows *rows = ctx;
    struct str which = STR_LIT("a row"); /* of a table that has no row numbers */

    if (!db_is_null(row, 1))
        which = arena_printf(rows->arena, "row %lld", (long long)db_get_int(row, 1));
    return add_sentence(
        rows, arena_printf(rows->arena, "%.*s of %.*s refers to a row of %.*s that does not exist",
                           STR_ARG(which), STR_ARG(table), STR_ARG(parent)));
}

static bool add_damaged(void *ctx, const struct row_sum *sum, const char *name)
{
    struct rows *rows = ctx;

    return add_sentence(
        rows,
        arena_printf(rows->arena, "a row of %s does not match its checksum: %s", sum->table, name));
}

static bool add_left_out(void *ctx, int64_t tenant_id, int64_t event_no)
{
    struct rows *rows = ctx;

    return add_sentence(rows, arena_printf(rows->arena,
                                           "event %lld of tenant %lld is of a day that its row in "
                                           "event_days lacks: exports of a time range leave it out",
                                           (long long)event_no, (long long)tenant_id));
}

static bool add_low_count(void *ctx, int64_t tenant_id, int64_t counted, int64_t there)
{
    struct rows *rows = ctx;

    return add_sentence(rows,
                        arena_printf(rows->arena,
                                     "tenant %lld has %lld agents, but is counted for %lld: it "
                                     "may get more agents than its max_agents",
                                     (long long)tenant_id, (long long)there, (long long)counted));
}

int backup_check_sums(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct str) };
    static const struct row_sum *const sums[] = { &event_sum, &business_run_sum,
                                                  &business_value_sum, &business_breakdown_sum,
                                                  &llm_usage_sum };

    for (size_t i = 0; i < COUNT_OF(sums); i++)
        if (rows.n < STORE_PROBLEMS_MAX &&
            row_sum_verify(db, sums[i], add_damaged, &rows, err) != 0)
            return -1;
    /* the time of a damaged event proves nothing */
    if (rows.n == 0 && event_days_check(db, add_left_out, &rows, err) != 0)
        return -1;
    if (rows.n < STORE_PROBLEMS_MAX && agents_check_counts(db, add_low_count, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int backup_check(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct str) };

    *ret = (struct list){ 0 };
    if (strcmp(db_dialect(db), "sqlite") == 0 &&
        (db_exec(db, &integrity_check, DB_NO_ARGS, add_problem, &rows, err) != 0 ||
         db_exec(db, &foreign_key_check, DB_NO_ARGS, add_orphan, &rows, err) != 0))
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return rows.n > 0 ? 0 : store_schema_check(db, err);
}

/* clang-format off */
#define SUM_OF(table, bytes) "SELECT CAST(COALESCE(SUM(" bytes "), 0) AS BIGINT) FROM " table " WHERE tenant_id = $1"
#define SUMS(table, bytes) { .sqlite = SUM_OF(table, bytes(STORED_TEXT_SQLITE)), .postgres = SUM_OF(table, bytes(STORED_TEXT_POSTGRES)) }

static const struct db_query sums[] = {
    SUMS("events", EVENT_STORED_BYTES),
    SUMS("business_values", BUSINESS_VALUE_BYTES),
    SUMS("business_breakdowns", BUSINESS_BREAKDOWN_BYTES),
    SUMS("llm_usage", USAGE_BYTES),
    SUMS("alert_history", ALERT_NOTE_BYTES),
    { .sql = SUM_OF("agent_documents", STORED_ROW " + bytes") },
};
/* clang-format on */

static int compare(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    int64_t counted = 0, there = 0;

    if (tenant_counted(db, tenant_id, &counted, err) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        int64_t bytes = 0;

        if (db_exec(db, &sums[i], DB_ARGS(db_int(tenant_id)), db_read_int, &bytes, err) != 0)
            return -1;
        there += bytes;
    }
    *ret = there - counted;
    return 0;
}

int recount_tenant(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, compare(db, tenant_id, ret, err));
}
