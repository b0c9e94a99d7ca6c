/* store.c - SQL of exports: steps by number, and pages of usage. */
#include "features/export/store.h"

#include "db/db.h"
#include "db/row_sum.h"
#include "features/cost/report_sums.h"
#include "features/export/shapes.h"
#include "features/kpis/report_sums.h"
#include "shape/json.h"
#include "shape/rows.h"

enum { RUNS_MAX = 1000000 }; /* about a second of PostgreSQL's */

/* clang-format off */
static const struct db_query last_number[] = {
    [NUMBERS_OF_EVENTS] = {
        .sqlite = "SELECT COALESCE(MAX(event_no), 0) FROM events WHERE $1 = $1",
        .postgres = "SELECT COALESCE(MAX(event_no), 0) FROM events WHERE tenant_id = $1",
    },
    [NUMBERS_OF_BUSINESS] = {
        .sqlite = "SELECT COALESCE(MAX(run_no), 0) FROM business_runs WHERE $1 = $1",
        .postgres = "SELECT COALESCE(MAX(run_no), 0) FROM business_runs WHERE tenant_id = $1",
    },
};
/* The index by time finds the runs that have a report since then; not the order of numbers, in which
 * those from before would be read too. If it finds more than $3, the first number of all. */
#define FIRST_SINCE(number)                                                                        \
    "SELECT CASE WHEN COUNT(*) > $3 THEN 1 ELSE COALESCE(MIN(run_no), 0) END FROM ("               \
    "SELECT " number " AS run_no FROM business_runs WHERE tenant_id = $1 AND timestamp >= $2"      \
    " ORDER BY timestamp LIMIT $3 + 1) AS since"
static const struct db_query first_since = {
    .sqlite = FIRST_SINCE("+run_no"), .postgres = FIRST_SINCE("run_no"),
};
/* In SQLite all tenants share the numbers, and only deleted rows leave gaps: a step starts after a
 * gap. In PostgreSQL the primary key finds the tenant's own numbers. */
#define NTH_NUMBER(number, table)                                                                  \
    "SELECT COALESCE(MAX(n), $3) FROM (SELECT " number " AS n FROM " table                         \
    " WHERE tenant_id = $1 AND " number " > $2 AND " number " <= $3"                               \
    " ORDER BY " number " LIMIT $4) AS step"
#define SQLITE_STEP(number, table)                                                                 \
    "SELECT MIN($3, $4 - 1 + COALESCE((SELECT MIN(" number ") FROM " table                         \
    " WHERE " number " > $2), $3)) WHERE $1 = $1"
static const struct db_query number_step[] = {
    [NUMBERS_OF_EVENTS] = {
        .sqlite = SQLITE_STEP("event_no", "events"),
        .postgres = NTH_NUMBER("event_no", "events"),
    },
    [NUMBERS_OF_BUSINESS] = {
        .sqlite = SQLITE_STEP("run_no", "business_runs"),
        .postgres = NTH_NUMBER("run_no", "business_runs"),
    },
};
/* Of run $2 only what comes after $6 and $7: nothing when they are NULL. */
#define VALUES_OF(bytes)                                                                           \
    "SELECT " BUSINESS_VALUE_SUMMED("v.") ", " BUSINESS_RUN_SUMMED("r.") ", a.agent_name"          \
    " FROM business_values v"                                                                      \
    " JOIN business_runs r ON r.tenant_id = v.tenant_id AND r.run_no = v.run_no"                   \
    " JOIN agents a ON a.tenant_id = v.tenant_id AND a.agent_id = v.agent_id"                      \
    " WHERE v.tenant_id = $1 AND v.run_no >= $2 AND v.run_no <= $3"                                \
    " AND (v.run_no > $2 OR v.key" bytes " > $6)"                                                  \
    " AND v.timestamp >= $4 AND v.timestamp < $5 ORDER BY v.run_no, v.key" bytes
static const struct db_query select_values = {
    .sum = &business_value_sum,
    .sqlite = VALUES_OF(""), .postgres = VALUES_OF(" COLLATE \"C\""),
};
#define BREAKDOWNS_OF(bytes)                                                                       \
    "SELECT " BUSINESS_BREAKDOWN_SUMMED("b.") ", " BUSINESS_RUN_SUMMED("r.") ", a.agent_name"      \
    " FROM business_breakdowns b"                                                                  \
    " JOIN business_runs r ON r.tenant_id = b.tenant_id AND r.run_no = b.run_no"                   \
    " JOIN agents a ON a.tenant_id = b.tenant_id AND a.agent_id = b.agent_id"                      \
    " WHERE b.tenant_id = $1 AND b.run_no >= $2 AND b.run_no <= $3"                                \
    " AND (b.run_no > $2 OR (b.metric" bytes ", b.dimensions" bytes ") > ($6, $7))"                \
    " AND b.timestamp >= $4 AND b.timestamp < $5"                                                  \
    " ORDER BY b.run_no, b.metric" bytes ", b.dimensions" bytes
static const struct db_query select_breakdowns = {
    .sum = &business_breakdown_sum,
    .sqlite = BREAKDOWNS_OF(""), .postgres = BREAKDOWNS_OF(" COLLATE \"C\""),
};
#define USAGE_OF(bytes)                                                                            \
    "SELECT " USAGE_SUMMED("u.") ", a.agent_name, u.fresh_tokens FROM llm_usage u"                                 \
    " JOIN agents a ON a.tenant_id = u.tenant_id AND a.agent_id = u.agent_id"                      \
    " WHERE u.tenant_id = $1 AND u.timestamp >= $2 AND u.timestamp < $3"                           \
    " AND (u.timestamp, u.agent_id, u.run_id" bytes ", u.model" bytes ") > ($2, $4, $5, $6)"       \
    " ORDER BY u.timestamp, u.agent_id, u.run_id" bytes ", u.model" bytes " LIMIT $7"
static const struct db_query select_usage = {
    .sum = &llm_usage_sum,
    .sqlite = USAGE_OF(""), .postgres = USAGE_OF(" COLLATE \"C\""),
};
/* clang-format on */

int store_numbers_last(struct db *db, enum store_numbers of, int64_t tenant_id, int64_t *ret,
                       struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id));

    return db_exec_int(db, &last_number[of], args, ret, err);
}

int store_business_first(struct db *db, int64_t tenant_id, int64_t since, int64_t *ret,
                         struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(since), db_int(RUNS_MAX));

    return db_exec_int(db, &first_since, args, ret, err);
}

int store_numbers_step(struct db *db, enum store_numbers of, const struct store_step *all,
                       int64_t n, int64_t *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(all->tenant_id), db_int(all->after), db_int(all->until), db_int(n));

    *ret = all->until;
    return db_exec(db, &number_step[of], args, db_read_int, ret, err);
}

struct reader {
    union {
        business_value_fn *value;
        breakdown_row_fn *breakdown;
        llm_row_fn *usage;
    };
    void *ctx;
    struct db *db;
    bool damaged;
};

/* Of a value or a breakdown, what its run says; the run's columns begin at `run`. False when they
 * are damaged; reader->damaged is set unless such a row is left out. */
static bool read_run(struct reader *reader, const struct db_row *row, unsigned run,
                     struct business_line *ret)
{
    const bool good = row_sum_check(&business_run_sum, row, run);

    reader->damaged = !good && !db_skips_damaged(reader->db);
    ret->run_id = db_get_text(row, run + RUN_AT_ID);
    ret->agent_version = db_get_text(row, run + RUN_AT_VERSION);
    ret->workflow_run_id = db_get_text(row, run + RUN_AT_WORKFLOW);
    ret->agent_name = db_get_text(row, run + RUN_AT_NEXT);
    return good;
}

static struct str either_text(const struct db_row *row, unsigned column, unsigned otherwise)
{
    return db_get_text(row, db_is_null(row, column) ? otherwise : column);
}

static bool pass_value(void *ctx, const struct db_row *row)
{
    struct reader *reader = ctx;
    struct business_line line = {
        .kind = BUSINESS_VALUE,
        .timestamp = db_get_int(row, VALUE_AT_TIMESTAMP),
        .received_at = db_get_int(row, VALUE_AT_RECEIVED),
        .key = either_text(row, VALUE_AT_FULL_KEY, VALUE_AT_KEY),
    };
    const struct business_place place = { .run_no = db_get_int(row, VALUE_AT_RUN_NO),
                                          .key = db_get_text(row, VALUE_AT_KEY) };
    BUF_SCOPED(value, MIB(64));
    bool more;

    if (!read_run(reader, row, VALUE_AT_NEXT, &line))
        return !reader->damaged;
    if (!db_is_null(row, VALUE_AT_NUMBER))
        buf_add_int(&value, db_get_int(row, VALUE_AT_NUMBER));
    else if (!db_is_null(row, VALUE_AT_NUMBER + 1))
        json_add_real(&value, db_get_real(row, VALUE_AT_NUMBER + 1));
    else
        buf_add_json(&value, db_get_text(row, VALUE_AT_TEXT));
    line.value = buf_str(&value);
    more = reader->value(reader->ctx, &place, &line);
    return more;
}

static bool pass_breakdown(void *ctx, const struct db_row *row)
{
    struct reader *reader = ctx;
    struct business_line line = {
        .kind = BUSINESS_BREAKDOWN,
        .timestamp = db_get_int(row, BREAKDOWN_AT_TIMESTAMP),
        .received_at = db_get_int(row, BREAKDOWN_AT_RECEIVED),
        .key = db_get_text(row, BREAKDOWN_AT_METRIC),
    };
    const struct stored_breakdown breakdown = {
        .place = { .run_no = db_get_int(row, BREAKDOWN_AT_RUN_NO),
                   .key = line.key,
                   .dimensions = db_get_text(row, BREAKDOWN_AT_DIMENSIONS) },
        .line = &line,
        .dimensions = either_text(row, BREAKDOWN_AT_FULL_DIMENSIONS, BREAKDOWN_AT_DIMENSIONS),
        .cells = db_get_text(row, BREAKDOWN_AT_CELLS),
    };

    if (!read_run(reader, row, BREAKDOWN_AT_NEXT, &line))
        return !reader->damaged;
    return reader->breakdown(reader->ctx, &breakdown);
}

/* For a statement that goes on after a place: its rows may replace the text of the place, and
 * SQLite compares each row with what was bound. */
static struct db_value bound_copy(struct arena *arena, struct str text)
{
    return db_text(str_is_null(text) ? text : arena_copy(arena, text));
}

static int read_step(struct db *db, const struct db_query *query, const struct business_step *b,
                     db_row_fn *on_row, struct reader *reader, struct error *err)
{
    const struct store_step *step = &b->step;
    ARENA_SCOPED(arena);

    if (db_exec(db, query,
                DB_ARGS(db_int(step->tenant_id), db_int(step->after), db_int(step->until),
                        db_int(step->range.since), db_int(step->range.until),
                        bound_copy(&arena, b->after->key),
                        bound_copy(&arena, b->after->dimensions)),
                on_row, reader, err) != 0)
        return -1;
    return reader->damaged ? err_set(err, ERR_DAMAGED,
                                     "a row of business_runs does not match its"
                                     " checksum")
                           : 0;
}

int store_business_values_step(struct db *db, const struct business_step *step,
                               business_value_fn *fn, void *ctx, struct error *err)
{
    struct reader reader = { .value = fn, .ctx = ctx, .db = db };

    return read_step(db, &select_values, step, pass_value, &reader, err);
}

int store_breakdowns_step(struct db *db, const struct business_step *step, breakdown_row_fn *fn,
                          void *ctx, struct error *err)
{
    struct reader reader = { .breakdown = fn, .ctx = ctx, .db = db };

    return read_step(db, &select_breakdowns, step, pass_breakdown, &reader, err);
}

static bool pass_usage(void *ctx, const struct db_row *row)
{
    const struct reader *reader = ctx;
    const struct llm_line line = {
        .agent_name = db_get_text(row, USAGE_AT_NEXT),
        .agent_version = db_get_text(row, USAGE_AT_VERSION),
        .run_id = db_get_text(row, USAGE_AT_RUN_ID),
        .workflow_run_id = db_get_text(row, USAGE_AT_WORKFLOW),
        .timestamp = db_get_int(row, USAGE_AT_TIMESTAMP),
        .received_at = db_get_int(row, USAGE_AT_RECEIVED),
        .model = db_get_text(row, USAGE_AT_MODEL),
        .input_tokens = db_get_int(row, USAGE_AT_COUNTS),
        .output_tokens = db_get_int(row, USAGE_AT_COUNTS + 1),
        .cache_read_tokens = db_get_int(row, USAGE_AT_COUNTS + 2),
        .cache_write_tokens = db_get_int(row, USAGE_AT_COUNTS + 3),
        .calls = db_get_int(row, USAGE_AT_COUNTS + 4),
        .fresh = rows_opt_int(row, USAGE_AT_NEXT + 1),
    };
    const struct llm_cursor place = { line.timestamp, db_get_int(row, USAGE_AT_AGENT), line.run_id,
                                      line.model };

    return reader->usage(reader->ctx, &place, &line);
}

int store_llm_page(struct db *db, const struct llm_page *page, llm_row_fn *fn, void *ctx,
                   struct error *err)
{
    struct reader reader = { .usage = fn, .ctx = ctx };
    ARENA_SCOPED(arena);

    return db_exec(db, &select_usage,
                   DB_ARGS(db_int(page->tenant_id), db_int(page->after.timestamp),
                           db_int(page->range.until), db_int(page->after.agent_id),
                           bound_copy(&arena, page->after.run_id),
                           bound_copy(&arena, page->after.model), db_int(page->limit)),
                   pass_usage, &reader, err);
}
