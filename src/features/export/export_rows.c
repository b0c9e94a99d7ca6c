/* export_rows.c - SQL of exports, and its rows as lines. */
#include "db/row_sum.h"
#include "features/access/registry.h"
#include "features/cost/cost.h"
#include "features/cost/llm_totals.h"
#include "features/cost/prices.h"
#include "features/cost/report_sums.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "features/export/export_run.h"
#include "features/kpis/report_sums.h"
#include "shape/json.h"
#include "shape/rows.h"

enum {
    RUNS_MAX = 1000000, /* about a second of PostgreSQL's */
    CELL_LEAST = 256,   /* bytes of a line, besides the names of its dimensions */
};

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

int export_last_number(struct export_run *run, enum export_numbers of, int64_t *ret,
                       struct error *err)
{
    return db_exec_int(run->db, &last_number[of], DB_ARGS(db_int(run->job->tenant->id)), ret, err);
}

int export_first_business(struct export_run *run, int64_t *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(run->job->tenant->id), db_int(run->job->range.since), db_int(RUNS_MAX));

    return db_exec_int(run->db, &first_since, args, ret, err);
}

int export_step_end(struct export_run *run, enum export_numbers of, const struct event_step *all,
                    int64_t n, int64_t *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(all->tenant_id), db_int(all->after), db_int(all->until), db_int(n));

    *ret = all->until;
    return db_exec(run->db, &number_step[of], args, db_read_int, ret, err);
}

static void add_line(struct export_run *run, const void *line)
{
    if (run->job->format == EXPORT_CSV) {
        csv_write_row(run->shape, line, &run->out);
    } else {
        shape_write_json(run->shape, line, &run->out);
        buf_add_char(&run->out, '\n');
    }
    run->n++;
    run->full = run->out.len >= run->part_bytes;
    run->cut = run->cut || run->out.overflown; /* before `out` is handed over and cleared */
}

void export_flush(struct export_run *run)
{
    struct str all = buf_str(&run->out);
    struct buf piece;

    if (all.len <= EXPORT_PART) {
        if (all.len > 0 && !run->closed)
            run->closed = !run->job->write(run->job, &run->out);
        return;
    }
    buf_init(&piece, EXPORT_PART);
    for (size_t at = 0; at < all.len && !run->closed; at += EXPORT_PART) {
        size_t left = all.len - at;

        buf_add(&piece, str_from(all.data + at, left < EXPORT_PART ? left : EXPORT_PART));
        run->closed = !run->job->write(run->job, &piece);
    }
    buf_done(&piece);
    buf_done(&run->out); /* a long line is rare: its memory is not kept */
}

bool export_is_unwanted(const struct export_run *run)
{
    return atomic_load(run->source->stopping) || atomic_load(&run->job->cancelled);
}

bool export_may_continue(const struct export_run *run)
{
    return !run->closed && !run->cut && !export_is_unwanted(run);
}

static void write_rest(struct export_run *run);

bool export_flush_and_continue(struct export_run *run)
{
    if (run->rest.cells != NULL)
        write_rest(run);
    export_flush(run);
    return export_may_continue(run);
}

/* The strings live until the next call. */
static void keep_names(struct export_run *run, struct str *first, struct str *second)
{
    struct str *const names[] = { first, second };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        buf_clear(&run->names[i]);
        if (str_is_null(*names[i]))
            continue;
        buf_add(&run->names[i], *names[i]);
        *names[i] = buf_str(&run->names[i]);
    }
}

static bool add_event(void *ctx, int64_t event_no, const struct stored_event *event)
{
    struct export_run *run = ctx;
    struct stored_event line = *event;

    line.event.client_id = run->job->tenant->slug;
    line.clock_skewed = run_event_is_skewed(event);
    add_line(run, &line);
    run->at = event_no;
    return !run->full;
}

int export_step_events(struct export_run *run, const struct event_step *step, struct error *err)
{
    return events_step(run->db, step, add_event, run, err);
}

int export_page_of_run(struct export_run *run, int64_t limit, struct error *err)
{
    const struct run_events_step step = { .tenant_id = run->job->tenant->id,
                                          .run_no = run->run_no,
                                          .after = run->at,
                                          .limit = limit,
                                          .range = run->job->range };

    return run_events_step(run->db, &step, add_event, run, err);
}

/* --- business reports --- */

static void keep_place(struct export_run *run, int64_t run_no, struct str key,
                       struct str dimensions)
{
    run->at = run_no;
    run->place = (struct business_place){ run_no, key, dimensions };
    keep_names(run, &run->place.key, &run->place.dimensions);
}

/* Of a value or a breakdown, what its run says; the run's columns begin at `first`. False when they
 * are damaged; run->damaged is set unless such a row is left out. */
static bool read_run(struct export_run *run, const struct db_row *row, unsigned first,
                     struct business_line *ret)
{
    const bool good = row_sum_check(&business_run_sum, row, first);

    run->damaged = !good && !db_skips_damaged(run->db);
    ret->run_id = db_get_text(row, first + RUN_AT_ID);
    ret->agent_version = db_get_text(row, first + RUN_AT_VERSION);
    ret->workflow_run_id = db_get_text(row, first + RUN_AT_WORKFLOW);
    ret->agent_name = db_get_text(row, first + RUN_AT_NEXT);
    return good;
}

static struct str either_text(const struct db_row *row, unsigned column, unsigned otherwise)
{
    return db_get_text(row, db_is_null(row, column) ? otherwise : column);
}

static bool add_value(void *ctx, const struct db_row *row)
{
    struct export_run *run = ctx;
    struct business_line line = {
        .kind = BUSINESS_VALUE,
        .timestamp = db_get_int(row, VALUE_AT_TIMESTAMP),
        .received_at = db_get_int(row, VALUE_AT_RECEIVED),
        .key = either_text(row, VALUE_AT_FULL_KEY, VALUE_AT_KEY),
    };
    BUF_SCOPED(value, MIB(64));

    if (!read_run(run, row, VALUE_AT_NEXT, &line))
        return !run->damaged;
    if (!db_is_null(row, VALUE_AT_NUMBER))
        buf_add_int(&value, db_get_int(row, VALUE_AT_NUMBER));
    else if (!db_is_null(row, VALUE_AT_NUMBER + 1))
        json_add_real(&value, db_get_real(row, VALUE_AT_NUMBER + 1));
    else
        buf_add_json(&value, db_get_text(row, VALUE_AT_TEXT));
    line.value = buf_str(&value);
    add_line(run, &line);
    keep_place(run, db_get_int(row, VALUE_AT_RUN_NO), db_get_text(row, VALUE_AT_KEY), STR_NULL);
    return !run->full;
}

/* {"name":value,…} for one cell. */
static void write_dimensions(yyjson_val *names, yyjson_val *cell, struct buf *out)
{
    size_t n = yyjson_arr_size(names);

    buf_clear(out);
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        yyjson_val *value = yyjson_arr_get(cell, i);

        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, json_str(yyjson_arr_get(names, i)));
        buf_add_char(out, ':');
        if (yyjson_is_str(value))
            buf_add_json(out, json_str(value));
        else if (yyjson_is_int(value))
            buf_add_int(out, yyjson_get_sint(value));
        else
            json_add_real(out, yyjson_get_num(value));
    }
    buf_add_char(out, '}');
}

/* `flushes`: no statement is open, so what fills a part may wait for the client. */
static void add_cells(struct export_run *run, const struct business_line *of, yyjson_val *names,
                      yyjson_val *cells, bool flushes)
{
    struct business_line line = *of;
    struct buf dimensions, value;
    yyjson_arr_iter rest;
    yyjson_val *cell;

    buf_init(&dimensions, EXPORT_LINES_MAX);
    buf_init(&value, KIB(1));
    yyjson_arr_iter_init(cells, &rest);
    while ((cell = yyjson_arr_iter_next(&rest)) != NULL && !run->closed) {
        yyjson_val *last = yyjson_arr_get_last(cell);

        write_dimensions(names, cell, &dimensions);
        run->cut = run->cut || dimensions.overflown;
        buf_clear(&value);
        if (yyjson_is_int(last))
            buf_add_int(&value, yyjson_get_sint(last));
        else
            json_add_real(&value, yyjson_get_num(last));
        line.dimensions = buf_str(&dimensions);
        line.value = buf_str(&value);
        add_line(run, &line);
        if (flushes && run->full)
            export_flush(run);
        if (flushes && export_is_unwanted(run))
            break;
    }
    buf_done(&dimensions);
    buf_done(&value);
}

void export_drop_rest(struct long_breakdown *rest)
{
    if (rest->cells == NULL)
        return;
    yyjson_doc_free(rest->names);
    yyjson_doc_free(rest->cells);
    rest->names = rest->cells = NULL;
    arena_done(&rest->arena);
}

static void write_rest(struct export_run *run)
{
    struct long_breakdown *rest = &run->rest;

    add_cells(run, &rest->line, yyjson_doc_get_root(rest->names), yyjson_doc_get_root(rest->cells),
              true);
    export_drop_rest(rest);
}

/* Takes over both documents. */
static void keep_rest(struct export_run *run, const struct business_line *line, yyjson_doc *names,
                      yyjson_doc *cells)
{
    struct long_breakdown *rest = &run->rest;
    struct arena *arena = &rest->arena;

    arena_init(arena);
    rest->names = names;
    rest->cells = cells;
    rest->line = *line;
    rest->line.agent_name = arena_copy(arena, line->agent_name);
    rest->line.agent_version = arena_copy(arena, line->agent_version);
    rest->line.run_id = arena_copy(arena, line->run_id);
    rest->line.key = arena_copy(arena, line->key);
    if (!str_is_null(line->workflow_run_id))
        rest->line.workflow_run_id = arena_copy(arena, line->workflow_run_id);
    run->full = true; /* the step ends here */
}

static bool add_breakdown(void *ctx, const struct db_row *row)
{
    struct export_run *run = ctx;
    struct business_line line = {
        .kind = BUSINESS_BREAKDOWN,
        .timestamp = db_get_int(row, BREAKDOWN_AT_TIMESTAMP),
        .received_at = db_get_int(row, BREAKDOWN_AT_RECEIVED),
        .key = db_get_text(row, BREAKDOWN_AT_METRIC),
    };
    const struct str dimensions =
        either_text(row, BREAKDOWN_AT_FULL_DIMENSIONS, BREAKDOWN_AT_DIMENSIONS);
    yyjson_doc *names, *cells;

    if (!read_run(run, row, BREAKDOWN_AT_NEXT, &line))
        return !run->damaged;
    names = json_read_stored(dimensions);
    cells = json_read_stored(db_get_text(row, BREAKDOWN_AT_CELLS));
    keep_place(run, db_get_int(row, BREAKDOWN_AT_RUN_NO), line.key,
               db_get_text(row, BREAKDOWN_AT_DIMENSIONS));
    run->n++; /* also without a cell */
    if (names != NULL && cells != NULL &&
        yyjson_arr_size(yyjson_doc_get_root(cells)) > EXPORT_PART / (dimensions.len + CELL_LEAST)) {
        keep_rest(run, &line, names, cells);
        return false;
    }
    if (names != NULL && cells != NULL)
        add_cells(run, &line, yyjson_doc_get_root(names), yyjson_doc_get_root(cells), false);
    yyjson_doc_free(names);
    yyjson_doc_free(cells);
    return !run->full;
}

/* A statement that goes on after a place: its rows replace the text of the place, and SQLite
 * compares each row with what was bound. */
static struct db_value bound_copy(struct arena *arena, struct str text)
{
    return db_text(str_is_null(text) ? text : arena_copy(arena, text));
}

static int step_business(struct export_run *run, const struct db_query *query,
                         const struct event_step *step, db_row_fn *on_row, struct error *err)
{
    ARENA_SCOPED(arena);

    run->damaged = false;
    if (db_exec(run->db, query,
                DB_ARGS(db_int(step->tenant_id), db_int(step->after), db_int(step->until),
                        db_int(step->range.since), db_int(step->range.until),
                        bound_copy(&arena, run->place.key),
                        bound_copy(&arena, run->place.dimensions)),
                on_row, run, err) != 0)
        return -1;
    if (!run->damaged)
        return 0;
    return err_set(err, ERR_DAMAGED, "a row of business_runs does not match its checksum");
}

int export_step_values(struct export_run *run, const struct event_step *step, struct error *err)
{
    return step_business(run, &select_values, step, add_value, err);
}

int export_step_breakdowns(struct export_run *run, const struct event_step *step, struct error *err)
{
    return step_business(run, &select_breakdowns, step, add_breakdown, err);
}

/* --- usage --- */

static bool add_usage(void *ctx, const struct db_row *row)
{
    struct export_run *run = ctx;
    const struct llm_counts counts = {
        db_get_int(row, USAGE_AT_COUNTS),     db_get_int(row, USAGE_AT_COUNTS + 1),
        db_get_int(row, USAGE_AT_COUNTS + 2), db_get_int(row, USAGE_AT_COUNTS + 3),
        db_get_int(row, USAGE_AT_COUNTS + 4), rows_opt_int(row, USAGE_AT_NEXT + 1)
    };
    struct llm_line line = {
        .agent_name = db_get_text(row, USAGE_AT_NEXT),
        .agent_version = db_get_text(row, USAGE_AT_VERSION),
        .run_id = db_get_text(row, USAGE_AT_RUN_ID),
        .workflow_run_id = db_get_text(row, USAGE_AT_WORKFLOW),
        .timestamp = db_get_int(row, USAGE_AT_TIMESTAMP),
        .received_at = db_get_int(row, USAGE_AT_RECEIVED),
        .model = db_get_text(row, USAGE_AT_MODEL),
        .input_tokens = counts.input,
        .output_tokens = counts.output,
        .cache_read_tokens = counts.cache_read,
        .cache_write_tokens = counts.cache_write,
        .calls = counts.calls,
        .price = STR_LIT("no price"),
    };
    char cost[MONEY_TEXT_MAX];
    const struct price_row *price =
        cost_of_report(run->book, line.model, line.timestamp, &counts, cost, &line.cost_usd);

    if (price != NULL) {
        line.price = price->model;
        line.price_id = (struct opt_int){ true, price->price_id };
    }
    add_line(run, &line);
    run->after = (struct usage_place){ line.timestamp, db_get_int(row, USAGE_AT_AGENT), line.run_id,
                                       line.model };
    keep_names(run, &run->after.run_id, &run->after.model);
    return !run->full;
}

int export_page_of_usage(struct export_run *run, int64_t limit, struct error *err)
{
    const struct usage_place *after = &run->after;
    ARENA_SCOPED(arena);

    return db_exec(run->db, &select_usage,
                   DB_ARGS(db_int(run->job->tenant->id), db_int(after->timestamp),
                           db_int(run->job->range.until), db_int(after->agent_id),
                           bound_copy(&arena, after->run_id), bound_copy(&arena, after->model),
                           db_int(limit)),
                   add_usage, run, err);
}
