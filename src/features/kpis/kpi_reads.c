/* kpi_reads.c - SQL that reads KPIs.
 *
 * The joins go from the few series to the contiguous rows of each, never
 * through all rollups of a tenant: CROSS JOIN fixes the order in SQLite, and
 * PostgreSQL does not flatten a LATERAL with an OFFSET. (Otherwise it reads the
 * whole table as soon as it has statistics.)
 */
#include "features/kpis/kpi_reads.h"

#include "db/lists.h"
#include "features/access/retention.h"
#include "features/kpis/report_sums.h"
#include "features/kpis/rollups.h"
#include "features/kpis/shapes.h"
#include "shape/json.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define SERIES                                                                                     \
    "SELECT s.series_no, s.agent_id, COALESCE(a.full_name, a.agent_name) AS agent_name, s.key,"    \
    " COALESCE(s.full_key, s.key) AS name FROM business_series s"                                  \
    " JOIN agents a ON a.tenant_id = s.tenant_id AND a.agent_id = s.agent_id"                      \
    " WHERE s.tenant_id = $1"
#define DECLARED                                                                                   \
    "SELECT k.agent_id, COALESCE(a.full_name, a.agent_name) AS agent_name, k.key,"                 \
    " COALESCE(k.full_key, k.key) AS name, k.label, k.unit, k.agg FROM agents a CROSS JOIN kpis k"                                      \
    " WHERE a.tenant_id = $1 AND k.tenant_id = $1 AND k.agent_id = a.agent_id"
#define OF_KEY(t) " AND " t ".key = $2 AND (CAST($3 AS BIGINT) = 0 OR " t ".agent_id = $3)"

ROW_TABLE(kpi_series, INT(series_no), INT(agent_id), STR(agent_name), STR(key), STR(name));
ROW_TABLE(kpi_declared, INT(agent_id), STR(agent_name), STR(key), STR(name), STR(label), STR(unit), STR(agg));

DB_ROWS_QUERY(series_all, kpi_series, SERIES " ORDER BY s.series_no LIMIT $2");
DB_ROWS_QUERY(series_of_key, kpi_series, SERIES OF_KEY("s") " ORDER BY s.series_no LIMIT $4");
#define BY_BYTES(bytes) " ORDER BY a.agent_name" bytes ", k.key" bytes
static const struct db_query declared_all = {
    .row = &kpi_declared,
    .sqlite = DECLARED BY_BYTES("") " LIMIT $2",
    .postgres = DECLARED BY_BYTES(" COLLATE \"C\"") " LIMIT $2",
};
static const struct db_query declared_of_key = {
    .row = &kpi_declared,
    .sqlite = DECLARED OF_KEY("k") BY_BYTES("") " LIMIT $4",
    .postgres = DECLARED OF_KEY("k") BY_BYTES(" COLLATE \"C\"") " LIMIT $4",
};

/* `of` selects the series, `piece` the rows of each. */
#define SQLITE_ROLLUPS(of, piece)                                                                  \
    "SELECT s.series_no, x.start, x.state FROM business_series s CROSS JOIN business_rollups x"    \
    " WHERE s.tenant_id = $1" of " AND x.tenant_id = $1 AND x.series_no = s.series_no" piece
#define POSTGRES_ROLLUPS(of, piece)                                                                \
    "SELECT s.series_no, r.start, r.state FROM business_series s CROSS JOIN LATERAL"               \
    " (SELECT x.start, x.state FROM business_rollups x WHERE x.tenant_id = $1"                     \
    " AND x.series_no = s.series_no" piece " OFFSET 0) r WHERE s.tenant_id = $1" of
#define VALUE_COLUMNS BUSINESS_VALUE_SUMMED("x.")
#define SQLITE_VALUES(of, piece)                                                                   \
    "SELECT " VALUE_COLUMNS ", s.series_no FROM business_series s CROSS JOIN business_values x"    \
    " WHERE s.tenant_id = $1" of " AND x.tenant_id = $1 AND x.key = s.key"                         \
    " AND x.agent_id = s.agent_id" piece
#define POSTGRES_VALUES(of, piece)                                                                 \
    "SELECT v.*, s.series_no FROM business_series s CROSS JOIN LATERAL"                            \
    " (SELECT " VALUE_COLUMNS " FROM business_values x WHERE x.tenant_id = $1"                     \
    " AND x.key = s.key AND x.agent_id = s.agent_id" piece " OFFSET 0) v"                          \
    " WHERE s.tenant_id = $1" of
#define BOTH(what, of, piece)                                                                      \
    .sqlite = SQLITE_##what(of, piece), .postgres = POSTGRES_##what(of, piece)
#define OF_ALL " AND s.series_no <= $2"

static const struct db_query rollups_all = {
    BOTH(ROLLUPS, OF_ALL, " AND x.start >= $3 AND x.start < $4 AND x.level = $5"),
};
static const struct db_query rollups_of_key = {
    BOTH(ROLLUPS, OF_KEY("s"), " AND x.start >= $4 AND x.start < $5 AND x.level = $6"),
};
static const struct db_query values_all = {
    .sum = &business_value_sum,
    BOTH(VALUES, OF_ALL, " AND x.timestamp >= $3 AND x.timestamp < $4"),
};
static const struct db_query values_of_key = {
    .sum = &business_value_sum,
    BOTH(VALUES, OF_KEY("s"), " AND x.timestamp >= $4 AND x.timestamp < $5"),
};
/* The first row of each series is the first of an index. */
#define FIRST_OF(each) "SELECT MIN((" each ")) FROM business_series s WHERE s.tenant_id = $1" OF_KEY("s")
DB_QUERY(select_first,
    FIRST_OF("SELECT MIN(x.timestamp) FROM business_values x"
             " WHERE x.tenant_id = $1 AND x.key = s.key AND x.agent_id = s.agent_id"));
DB_QUERY(select_first_hour,
    FIRST_OF("SELECT MIN(x.start) FROM business_rollups x"
             " WHERE x.tenant_id = $1 AND x.series_no = s.series_no AND x.level = 0"));
/* Also by its times: SQLite may reuse the number of a deleted run. */
#define TEXT_OF(place, tenant_id, run_no, key, timestamp, received_at)                             \
    "SELECT " VALUE_COLUMNS place " FROM business_values x WHERE x.tenant_id = " tenant_id         \
    " AND x.run_no = " run_no                                                                      \
    " AND x.key = " key " AND x.timestamp = " timestamp " AND x.received_at = " received_at
static const struct db_query select_text = {
    .sum = &business_value_sum,
    .sqlite = TEXT_OF(", 0", "$1", "$2", "$3", "$4", "$5"),
};
#define TEXTS_OF(array, column, tenant_id)                                                         \
    "SELECT v.*, w.place - 1 FROM unnest(" array "$2::bigint[], $3::text[], $4::bigint[],"         \
    " $5::bigint[]) WITH ORDINALITY AS w(" column "run_no, key, timestamp, received_at, place)"    \
    " CROSS JOIN LATERAL (" TEXT_OF("", tenant_id, "w.run_no", "w.key", "w.timestamp",             \
    "w.received_at") " OFFSET 0) v"
static const struct db_query select_texts = {
    .sum = &business_value_sum,
    .postgres = TEXTS_OF("$1::bigint[], ", "tenant_id, ", "w.tenant_id"),
    .citus = TEXTS_OF("", "", "$1"),
};
/* clang-format on */

enum { BYTES_MAX = 16 << 20, TEXTS_MAX = 64 << 20 /* as much as an answer may hold */ };

/* The list of series or of declared KPIs. */
struct list_of {
    const struct db_query *all, *of_key;
    int64_t max;
    struct arena *arena;
};

/* Reads one row more than `max` to detect a cut. */
static int read_list(struct db *db, const struct kpi_source *source, const struct list_of *of,
                     struct kpi_rows *ret, struct error *err)
{
    const struct db_value limit = db_int(of->max + 1);
    const struct db_args all = DB_ARGS(db_int(source->tenant_id), limit);
    const struct db_args one =
        DB_ARGS(db_int(source->tenant_id), db_text(source->key), db_int(source->agent_id), limit);
    const bool any = str_is_null(source->key);
    struct rows_page page = { .bytes = BYTES_MAX };

    if (rows_page(db, any ? of->all : of->of_key, any ? all : one, of->arena, &page, err) != 0)
        return -1;
    *ret = (struct kpi_rows){ page.list, page.cut || page.list.n > (size_t)of->max };
    if (page.list.n > (size_t)of->max)
        ret->list.n = (size_t)of->max;
    return 0;
}

int kpi_reads_series(struct db *db, const struct kpi_source *source, int64_t max,
                     struct arena *arena, struct kpi_rows *ret, struct error *err)
{
    const struct list_of of = { &series_all, &series_of_key, max, arena };

    return read_list(db, source, &of, ret, err);
}

int kpi_reads_declared(struct db *db, const struct kpi_source *source, int64_t max,
                       struct arena *arena, struct kpi_rows *ret, struct error *err)
{
    const struct list_of of = { &declared_all, &declared_of_key, max, arena };

    return read_list(db, source, &of, ret, err);
}

/* A part of a range, read from one table. */
struct piece {
    int level; /* enum rollup_level; -1: from the values */
    int64_t from, until;
};

enum { FROM_VALUES = -1, PIECES_MAX = 5 };

/* The first hour or day that does not start before `us`. */
static int64_t round_up(enum rollup_level level, int64_t us)
{
    if (us == TIME_NULL || rollup_start(level, us) == us)
        return us;
    return rollup_next(level, us);
}

static size_t split_hours(int64_t from, int64_t until, bool days, struct piece *ret)
{
    int64_t first = round_up(ROLLUP_DAY, from), last = rollup_start(ROLLUP_DAY, until);

    if (!days || first >= last) {
        ret[0] = (struct piece){ ROLLUP_HOUR, from, until };
        return 1;
    }
    ret[0] = (struct piece){ ROLLUP_HOUR, from, first };
    ret[1] = (struct piece){ ROLLUP_DAY, first, last };
    ret[2] = (struct piece){ ROLLUP_HOUR, last, until };
    return 3;
}

static size_t split(const struct time_range *range, enum bucket bucket, struct piece *ret)
{
    int64_t from = round_up(ROLLUP_HOUR, range->since);
    int64_t until = rollup_start(ROLLUP_HOUR, range->until);

    if (bucket == BUCKET_MINUTE || from > until) {
        ret[0] = (struct piece){ FROM_VALUES, range->since, range->until };
        return 1;
    }
    ret[0] = (struct piece){ FROM_VALUES, range->since, from };
    ret[1] = (struct piece){ FROM_VALUES, until, range->until };
    return 2 + split_hours(from, until, bucket != BUCKET_HOUR, ret + 2);
}

struct rows_read {
    const struct kpi_reading *to;
    int64_t deleted_until; /* values before this may be deleted */
    bool bad;
};

static bool read_rollup(void *ctx, const struct db_row *row)
{
    struct rows_read *r = ctx;
    struct kpi_state state;

    if (!kpi_state_read(db_get_blob(row, 2), &state))
        r->bad = true;
    else if (state.n > 0) /* otherwise all of its values were replaced */
        r->to->on_state(r->to->ctx, db_get_int(row, 0), db_get_int(row, 1), &state);
    return !r->bad;
}

static bool read_value(void *ctx, const struct db_row *row)
{
    struct rows_read *r = ctx;
    const struct kpi_stamp place = { db_get_int(row, VALUE_AT_TIMESTAMP),
                                     db_get_int(row, VALUE_AT_RECEIVED),
                                     db_get_int(row, VALUE_AT_RUN_NO) };
    const struct kpi_value value = kpi_value_read(row, VALUE_AT_NUMBER);
    struct kpi_state state = { 0 };

    kpi_state_add(&state, &value, &place);
    r->to->on_state(r->to->ctx, db_get_int(row, VALUE_AT_NEXT), place.timestamp, &state);
    return true;
}

/* If values of a partial hour may be deleted, the whole hour counts, at its start. */
static struct piece whole_hours(const struct rows_read *r, struct piece piece)
{
    if (piece.level == FROM_VALUES && r->to->bucket != BUCKET_MINUTE &&
        rollup_start(ROLLUP_HOUR, piece.from) < r->deleted_until)
        piece.level = ROLLUP_HOUR;
    return piece;
}

static int read_piece(struct db *db, const struct kpi_source *source, const struct piece *piece,
                      struct rows_read *r, struct error *err)
{
    const struct db_args all =
        DB_ARGS(db_int(source->tenant_id), db_int(source->series_max), db_int(piece->from),
                db_int(piece->until), db_int(piece->level));
    const struct db_args one =
        DB_ARGS(db_int(source->tenant_id), db_text(source->key), db_int(source->agent_id),
                db_int(piece->from), db_int(piece->until), db_int(piece->level));
    bool any = str_is_null(source->key);

    if (piece->level == FROM_VALUES)
        return db_exec(db, any ? &values_all : &values_of_key, any ? all : one, read_value, r, err);
    if (db_exec(db, any ? &rollups_all : &rollups_of_key, any ? all : one, read_rollup, r, err) !=
        0)
        return -1;
    return r->bad ? err_set(err, ERR_SCHEMA, "a total of a KPI cannot be read") : 0;
}

int kpi_reads_states(struct db *db, const struct kpi_source *source,
                     const struct kpi_reading *reading, struct error *err)
{
    struct rows_read r = { .to = reading };
    struct piece pieces[PIECES_MAX];
    size_t n = split(&reading->range, reading->bucket, pieces);
    struct retention_marks marks;

    if (retention_load_marks(db, source->tenant_id, &marks, err) != 0)
        return -1;
    r.deleted_until = marks.business_until;
    for (size_t i = 0; i < n; i++) {
        struct piece piece;

        if (pieces[i].from >= pieces[i].until)
            continue;
        piece = whole_hours(&r, pieces[i]);
        if (read_piece(db, source, &piece, &r, err) != 0)
            return -1;
    }
    return 0;
}

static bool read_time(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = rows_time(row, 0);
    return false;
}

int kpi_reads_first(struct db *db, const struct kpi_source *source, int64_t *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(source->tenant_id), db_text(source->key), db_int(source->agent_id));
    struct retention_marks marks;
    int64_t hour = TIME_NULL;

    *ret = TIME_NULL;
    if (retention_load_marks(db, source->tenant_id, &marks, err) != 0 ||
        db_exec(db, &select_first, args, read_time, ret, err) != 0)
        return -1;
    if (marks.business_until == TIME_NULL)
        return 0;
    if (db_exec(db, &select_first_hour, args, read_time, &hour, err) != 0)
        return -1;
    if (hour != TIME_NULL && (*ret == TIME_NULL || hour < *ret))
        *ret = hour;
    return 0;
}

struct texts_reader {
    const struct rows *wanted;
    int64_t tenant_id;
    size_t at;
    bool too_long;
};

static void fill_text(void *ctx, size_t i, struct db_value *ret)
{
    const struct texts_reader *r = ctx;
    const struct kpi_text *wanted = &((const struct kpi_text *)r->wanted->items)[i];

    ret[0] = db_int(r->tenant_id);
    ret[1] = db_int(wanted->stamp.run_no);
    ret[2] = db_text(wanted->key);
    ret[3] = db_int(wanted->stamp.timestamp);
    ret[4] = db_int(wanted->stamp.received_at);
}

static bool read_text(void *ctx, const struct db_row *row)
{
    static const struct kpi_value value = { .kind = VALUE_STR };
    struct texts_reader *r = ctx;
    const struct kpi_text *wanted = r->wanted->items;
    const size_t place = r->at + (size_t)db_get_int(row, VALUE_AT_NEXT);

    if (!r->too_long && !db_is_null(row, VALUE_AT_TEXT))
        *wanted[place].ret =
            kpi_value_text(&value, db_get_text(row, VALUE_AT_TEXT), r->wanted->arena);
    r->too_long |= r->wanted->arena->total > TEXTS_MAX;
    return !r->too_long;
}

int kpi_reads_texts(struct db *db, int64_t tenant_id, const struct rows *wanted, struct error *err)
{
    struct texts_reader r = { .wanted = wanted, .tenant_id = tenant_id };
    const struct pg_rows rows = { .one = &select_text,
                                  .all = &select_texts,
                                  .n = wanted->n,
                                  .n_columns = 5,
                                  .fill = fill_text,
                                  .on_row = read_text,
                                  .ctx = &r,
                                  .at = &r.at };
    ARENA_SCOPED(arena);

    if (pg_exec_rows(db, &rows, &arena, err) != 0)
        return -1;
    if (r.too_long)
        return err_set(err, ERR_INTERNAL, "the texts of the KPIs are too long for one answer");
    return 0;
}

/* clang-format off */
#define RUN_VALUES(bytes)                                                                          \
    "SELECT " BUSINESS_VALUE_SUMMED("v.") ", COALESCE(a.full_name, a.agent_name), k.label, k.unit" \
    " FROM business_runs r JOIN business_values v ON v.tenant_id = r.tenant_id"                    \
    " AND v.run_no = r.run_no JOIN agents a ON a.tenant_id = r.tenant_id"                          \
    " AND a.agent_id = r.agent_id LEFT JOIN kpis k ON k.tenant_id = r.tenant_id"                   \
    " AND k.agent_id = r.agent_id AND k.key = v.key WHERE r.tenant_id = $1 AND r.run_id = $2"      \
    " ORDER BY r.agent_id, v.key" bytes " LIMIT $3"

static const struct db_query select_values = {
    .sum = &business_value_sum,
    .sqlite = RUN_VALUES(""), .postgres = RUN_VALUES(" COLLATE \"C\""),
};

static const struct db_query select_reports = {
    .sum = &business_value_sum,
    .sql = "SELECT " BUSINESS_VALUE_SUMMED("v.") ", r.run_id FROM business_values v"
           " JOIN business_runs r ON r.tenant_id = v.tenant_id AND r.run_no = v.run_no"
           " WHERE v.tenant_id = $1 AND v.key = $2 AND v.agent_id = $3"
           " AND v.timestamp >= $4 AND v.timestamp < $5"
           " ORDER BY v.timestamp DESC, v.run_no DESC LIMIT $6",
};
/* clang-format on */

static bool add_value(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct run_kpi *kpi = rows_add(rows);
    const struct kpi_value value = kpi_value_read(row, VALUE_AT_NUMBER);
    const bool full = !db_is_null(row, VALUE_AT_FULL_KEY);

    kpi->key = rows_text(rows->arena, row, full ? VALUE_AT_FULL_KEY : VALUE_AT_KEY);
    kpi->at = db_get_int(row, VALUE_AT_TIMESTAMP);
    kpi->value = kpi_value_text(&value, rows_text(rows->arena, row, VALUE_AT_TEXT), rows->arena);
    kpi->agent_name = rows_text(rows->arena, row, VALUE_AT_NEXT);
    kpi->label = rows_text(rows->arena, row, VALUE_AT_NEXT + 1);
    kpi->unit = rows_text(rows->arena, row, VALUE_AT_NEXT + 2);
    return true;
}

int kpi_reads_of_run(struct db *db, int64_t tenant_id, struct str run_id, struct arena *arena,
                     struct list *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(run_id), db_int(RUN_KPIS_MAX));
    struct rows rows = { .arena = arena, .size = sizeof(struct run_kpi) };

    if (db_exec(db, &select_values, args, add_value, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

struct reports_reader {
    struct rows rows;
    size_t max, before; /* before: bytes in the arena at the start */
    bool cut;
};

static bool add_report(void *ctx, const struct db_row *row)
{
    struct reports_reader *r = ctx;
    struct arena *arena = r->rows.arena;
    const struct kpi_value value = kpi_value_read(row, VALUE_AT_NUMBER);
    struct kpi_report *report;

    r->cut = r->rows.n == r->max || arena->total - r->before > BYTES_MAX;
    if (r->cut)
        return false;
    report = rows_add(&r->rows);
    report->run_id = rows_text(arena, row, VALUE_AT_NEXT);
    report->at = db_get_int(row, VALUE_AT_TIMESTAMP);
    report->value = kpi_value_text(&value, rows_text(arena, row, VALUE_AT_TEXT), arena);
    return true;
}

int kpi_reads_reports(struct db *db, const struct kpi_reports_span *span, struct arena *arena,
                      struct kpi_reports *ret, struct error *err)
{
    const int64_t since = span->range.since == TIME_NULL ? INT64_MIN : span->range.since;
    const struct db_args args =
        DB_ARGS(db_int(span->tenant_id), db_text(span->key), db_int(span->agent_id), db_int(since),
                db_int(span->range.until), db_int(span->limit + 1));
    struct reports_reader r = { .rows = { .arena = arena, .size = sizeof(struct kpi_report) },
                                .max = (size_t)span->limit,
                                .before = arena->total };

    if (db_exec(db, &select_reports, args, add_report, &r, err) != 0)
        return -1;
    *ret = (struct kpi_reports){ { r.rows.items, r.rows.n }, r.cut };
    return 0;
}

/* clang-format off */
#define OF_FILTER                                                                                  \
    " FROM business_breakdowns b WHERE b.tenant_id = $1 AND b.metric = $2 AND b.timestamp >= $3"   \
    " AND b.timestamp < $4 AND (CAST($5 AS BIGINT) = 0 OR b.agent_id = $5)"
DB_QUERY(select_sets,
    "SELECT DISTINCT b.agent_id, b.dimensions, b.full_dimensions" OF_FILTER " LIMIT $6");
/* $6: a JSON object whose keys are the sets to read. Both look a set up: a list of values would be
 * compared one by one in PostgreSQL. */
#define OF_SETS(columns, is_in) "SELECT " columns OF_FILTER " AND " is_in
#define OF_SETS_QUERY(columns)                                                                     \
    .sqlite = OF_SETS(columns, "b.dimensions IN (SELECT key FROM json_each($6))"),                 \
    .postgres = OF_SETS(columns, "CAST($6 AS jsonb) ? b.dimensions")

const struct db_query breakdown_runs_query = { OF_SETS_QUERY("b.run_no, b.dimensions") };
const struct db_query breakdowns_query = {
    .sum = &business_breakdown_sum,
    OF_SETS_QUERY(BUSINESS_BREAKDOWN_SUMMED("b.")),
};
/* clang-format on */

struct sets_reader {
    struct rows rows;
    size_t bytes_before;
    struct breakdown_sets *ret;
};

static bool add_set(void *ctx, const struct db_row *row)
{
    struct sets_reader *r = ctx;
    struct arena *arena = r->rows.arena;
    struct breakdown_set *set;

    r->ret->cut =
        r->rows.n >= BREAKDOWN_SETS_MAX || arena->total - r->bytes_before > BREAKDOWN_SETS_BYTES;
    if (r->ret->cut)
        return false;
    set = rows_add(&r->rows);
    set->agent_id = db_get_int(row, 0);
    set->key = rows_text(arena, row, 1);
    set->names = db_is_null(row, 2) ? set->key : rows_text(arena, row, 2);
    return true;
}

static struct db_args filter_args(const struct breakdown_filter *filter, struct db_value last,
                                  struct db_value ret[6])
{
    ret[0] = db_int(filter->tenant_id);
    ret[1] = db_text(filter->metric);
    ret[2] = db_int(filter->range.since);
    ret[3] = db_int(filter->range.until);
    ret[4] = db_int(filter->agent_id);
    ret[5] = last;
    return (struct db_args){ ret, 6 };
}

int breakdowns_sets(struct db *db, const struct breakdown_filter *filter, struct arena *arena,
                    struct breakdown_sets *ret, struct error *err)
{
    struct sets_reader r = { .rows = { .arena = arena, .size = sizeof(struct breakdown_set) },
                             .bytes_before = arena->total,
                             .ret = ret };
    struct db_value values[6];
    const struct db_args args = filter_args(filter, db_int(BREAKDOWN_SETS_MAX + 1), values);

    *ret = (struct breakdown_sets){ 0 };
    if (db_exec(db, &select_sets, args, add_set, &r, err) != 0)
        return -1;
    ret->list = (struct list){ r.rows.items, r.rows.n };
    return 0;
}

int breakdowns_runs(struct db *db, const struct breakdown_filter *filter, struct str set_keys,
                    db_row_fn *on_run, void *ctx, struct error *err)
{
    struct db_value values[6];

    return db_exec(db, &breakdown_runs_query, filter_args(filter, db_text(set_keys), values),
                   on_run, ctx, err);
}

int breakdowns_read(struct db *db, const struct breakdown_filter *filter, struct str set_keys,
                    db_row_fn *on_breakdown, void *ctx, struct error *err)
{
    struct db_value values[6];

    return db_exec(db, &breakdowns_query, filter_args(filter, db_text(set_keys), values),
                   on_breakdown, ctx, err);
}

bool cells_read_names(struct str text, struct arena *arena, struct list *ret)
{
    yyjson_doc *doc = json_read_stored(text);
    yyjson_val *root = yyjson_doc_get_root(doc), *name;
    struct str *names = ARENA_ARRAY(arena, struct str, yyjson_arr_size(root) + 1);
    bool valid = yyjson_is_arr(root);
    size_t i, n;

    yyjson_arr_foreach(root, i, n, name)
    {
        valid &= yyjson_is_str(name);
        names[i] = arena_copy(arena, str_from(yyjson_get_str(name), yyjson_get_len(name)));
    }
    *ret = (struct list){ names, yyjson_arr_size(root) };
    yyjson_doc_free(doc);
    return valid;
}

static void read_named(yyjson_val *value, struct named_value *ret)
{
    ret->string = STR_NULL;
    if (yyjson_is_str(value)) {
        ret->kind = VALUE_STR;
        ret->string = str_from(yyjson_get_str(value), yyjson_get_len(value));
    } else if (yyjson_is_int(value)) {
        ret->kind = VALUE_INT;
        ret->integer = yyjson_get_sint(value);
    } else {
        ret->kind = VALUE_REAL;
        ret->real = yyjson_get_num(value);
    }
}

bool cells_each(struct str text, struct named_value *room, size_t n, cells_fn *on_cell, void *ctx)
{
    yyjson_doc *doc = json_read_stored(text);
    yyjson_val *root = yyjson_doc_get_root(doc), *cell, *value;
    bool valid = yyjson_is_arr(root);
    size_t i, n_cells, j, n_values;

    yyjson_arr_foreach(root, i, n_cells, cell)
    {
        valid &= yyjson_arr_size(cell) == n + 1 && yyjson_is_num(yyjson_arr_get_last(cell));
        if (!valid)
            break;
        yyjson_arr_foreach(cell, j, n_values, value)
        {
            if (j < n)
                read_named(value, &room[j]);
        }
        on_cell(ctx, room, yyjson_get_num(yyjson_arr_get_last(cell)));
    }
    yyjson_doc_free(doc);
    return valid;
}
