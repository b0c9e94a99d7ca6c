/* store.c - SQL of exports: steps by number, and pages of usage. */
#include "features/export/store.h"

#include "db/db.h"
#include "features/export/shapes.h"
#include "shape/json_write.h"

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
    "SELECT a.agent_name, r.agent_version, r.run_id, r.workflow_run_id, v.timestamp,"              \
    " v.received_at, COALESCE(v.full_key, v.key), v.run_no, v.integer_value, v.real_value,"        \
    " v.text_value, v.key FROM business_values v"                                                  \
    " JOIN business_runs r ON r.tenant_id = v.tenant_id AND r.run_no = v.run_no"                   \
    " JOIN agents a ON a.tenant_id = v.tenant_id AND a.agent_id = v.agent_id"                      \
    " WHERE v.tenant_id = $1 AND v.run_no >= $2 AND v.run_no <= $3"                                \
    " AND (v.run_no > $2 OR v.key" bytes " > $6)"                                                  \
    " AND v.timestamp >= $4 AND v.timestamp < $5 ORDER BY v.run_no, v.key" bytes
static const struct db_query select_values = {
    .sqlite = VALUES_OF(""), .postgres = VALUES_OF(" COLLATE \"C\""),
};
#define BREAKDOWNS_OF(bytes)                                                                       \
    "SELECT a.agent_name, r.agent_version, r.run_id, r.workflow_run_id, b.timestamp,"              \
    " b.received_at, b.metric, b.run_no, COALESCE(b.full_dimensions, b.dimensions), b.cells,"      \
    " b.dimensions"                                                                                \
    " FROM business_breakdowns b"                                                                  \
    " JOIN business_runs r ON r.tenant_id = b.tenant_id AND r.run_no = b.run_no"                   \
    " JOIN agents a ON a.tenant_id = b.tenant_id AND a.agent_id = b.agent_id"                      \
    " WHERE b.tenant_id = $1 AND b.run_no >= $2 AND b.run_no <= $3"                                \
    " AND (b.run_no > $2 OR (b.metric" bytes ", b.dimensions" bytes ") > ($6, $7))"                \
    " AND b.timestamp >= $4 AND b.timestamp < $5"                                                  \
    " ORDER BY b.run_no, b.metric" bytes ", b.dimensions" bytes
static const struct db_query select_breakdowns = {
    .sqlite = BREAKDOWNS_OF(""), .postgres = BREAKDOWNS_OF(" COLLATE \"C\""),
};
#define USAGE_OF(bytes)                                                                            \
    "SELECT a.agent_name, u.agent_version, u.run_id, u.workflow_run_id, u.timestamp,"              \
    " u.received_at, u.model, u.agent_id, u.input_tokens, u.output_tokens, u.cache_read_tokens,"   \
    " u.cache_write_tokens, u.calls FROM llm_usage u"                                              \
    " JOIN agents a ON a.tenant_id = u.tenant_id AND a.agent_id = u.agent_id"                      \
    " WHERE u.tenant_id = $1 AND u.timestamp >= $2 AND u.timestamp < $3"                           \
    " AND (u.timestamp, u.agent_id, u.run_id" bytes ", u.model" bytes ") > ($2, $4, $5, $6)"       \
    " ORDER BY u.timestamp, u.agent_id, u.run_id" bytes ", u.model" bytes " LIMIT $7"
static const struct db_query select_usage = {
    .sqlite = USAGE_OF(""), .postgres = USAGE_OF(" COLLATE \"C\""),
};
/* clang-format on */

int store_numbers_last(struct db *db, enum store_numbers of, int64_t tenant_id, int64_t *ret,
                       struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id));

    *ret = 0;
    return db_exec(db, &last_number[of], args, db_read_int, ret, err);
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
};

/* The first columns of values and breakdowns. */
static struct business_line read_line(enum business_kind kind, const struct db_row *row)
{
    return (struct business_line){ .kind = (int)kind,
                                   .agent_name = db_get_text(row, 0),
                                   .agent_version = db_get_text(row, 1),
                                   .run_id = db_get_text(row, 2),
                                   .workflow_run_id = db_get_text(row, 3),
                                   .timestamp = db_get_int(row, 4),
                                   .received_at = db_get_int(row, 5),
                                   .key = db_get_text(row, 6) };
}

static bool pass_value(void *ctx, const struct db_row *row)
{
    const struct reader *reader = ctx;
    struct business_line line = read_line(BUSINESS_VALUE, row);
    const struct business_place place = { .run_no = db_get_int(row, 7),
                                          .key = db_get_text(row, 11) };
    struct buf value;
    bool more;

    buf_init(&value, MIB(64));
    if (!db_is_null(row, 8))
        buf_add_int(&value, db_get_int(row, 8));
    else if (!db_is_null(row, 9))
        json_add_real(&value, db_get_real(row, 9));
    else
        buf_add_json(&value, db_get_text(row, 10));
    line.value = buf_str(&value);
    more = reader->value(reader->ctx, &place, &line);
    buf_done(&value);
    return more;
}

static bool pass_breakdown(void *ctx, const struct db_row *row)
{
    const struct reader *reader = ctx;
    const struct business_line line = read_line(BUSINESS_BREAKDOWN, row);
    const struct stored_breakdown breakdown = { .place = { .run_no = db_get_int(row, 7),
                                                           .key = line.key,
                                                           .dimensions = db_get_text(row, 10) },
                                                .line = &line,
                                                .dimensions = db_get_text(row, 8),
                                                .cells = db_get_text(row, 9) };

    return reader->breakdown(reader->ctx, &breakdown);
}

static int read_step(struct db *db, const struct db_query *query, const struct business_step *b,
                     db_row_fn *on_row, struct reader *reader, struct error *err)
{
    const struct store_step *step = &b->step;
    const struct db_args args =
        DB_ARGS(db_int(step->tenant_id), db_int(step->after), db_int(step->until),
                db_int(step->range.since), db_int(step->range.until), db_text(b->after->key),
                db_text(b->after->dimensions));

    return db_exec(db, query, args, on_row, reader, err);
}

int store_business_values_step(struct db *db, const struct business_step *step,
                               business_value_fn *fn, void *ctx, struct error *err)
{
    struct reader reader = { .value = fn, .ctx = ctx };

    return read_step(db, &select_values, step, pass_value, &reader, err);
}

int store_breakdowns_step(struct db *db, const struct business_step *step, breakdown_row_fn *fn,
                          void *ctx, struct error *err)
{
    struct reader reader = { .breakdown = fn, .ctx = ctx };

    return read_step(db, &select_breakdowns, step, pass_breakdown, &reader, err);
}

static bool pass_usage(void *ctx, const struct db_row *row)
{
    const struct reader *reader = ctx;
    const struct llm_line line = {
        .agent_name = db_get_text(row, 0),
        .agent_version = db_get_text(row, 1),
        .run_id = db_get_text(row, 2),
        .workflow_run_id = db_get_text(row, 3),
        .timestamp = db_get_int(row, 4),
        .received_at = db_get_int(row, 5),
        .model = db_get_text(row, 6),
        .input_tokens = db_get_int(row, 8),
        .output_tokens = db_get_int(row, 9),
        .cache_read_tokens = db_get_int(row, 10),
        .cache_write_tokens = db_get_int(row, 11),
        .calls = db_get_int(row, 12),
    };
    const struct llm_cursor place = { line.timestamp, db_get_int(row, 7), line.run_id, line.model };

    return reader->usage(reader->ctx, &place, &line);
}

int store_llm_page(struct db *db, const struct llm_page *page, llm_row_fn *fn, void *ctx,
                   struct error *err)
{
    struct reader reader = { .usage = fn, .ctx = ctx };
    const struct db_args args =
        DB_ARGS(db_int(page->tenant_id), db_int(page->after.timestamp), db_int(page->range.until),
                db_int(page->after.agent_id), db_text(page->after.run_id),
                db_text(page->after.model), db_int(page->limit));

    return db_exec(db, &select_usage, args, pass_usage, &reader, err);
}
