/* report_store.c - SQL of business KPIs, and the format of stored breakdowns.
 *
 * All cells of a breakdown are one text, since a report may hold 100,000 of
 * them: they are written and deleted together, and a query adds up all cells
 * of a time range by some of the dimensions, which needs every cell of a row
 * and no index.
 */
#include "features/kpis/reports.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "db/lists.h"
#include "db/servers.h"
#include "features/kpis/report_sums.h"
#include "features/kpis/rollups.h"
#include "features/kpis/shapes.h"
#include "shape/json.h"

/* clang-format off */
const struct row_sum business_run_sum = {
    .table = "business_runs",
    .types = "iititt",
    .key = (const char *const[]){ "tenant_id", "agent_id", "run_id", NULL },
    .all = { .sql = "SELECT " BUSINESS_RUN_SUMMED("") ", 1 FROM business_runs" },
};
const struct row_sum business_value_sum = {
    .table = "business_values",
    .types = "iittiiiirt",
    .key = (const char *const[]){ "tenant_id", "run_no", "key", NULL },
    .all = { .sql = "SELECT " BUSINESS_VALUE_SUMMED("") ", 0 FROM business_values" },
};
const struct row_sum business_breakdown_sum = {
    .table = "business_breakdowns",
    .types = "iitttiiit",
    .key = (const char *const[]){ "tenant_id", "run_no", "metric", "dimensions", NULL },
    .all = { .sql = "SELECT " BUSINESS_BREAKDOWN_SUMMED("") ", 1 FROM business_breakdowns" },
};
/* clang-format on */

/* clang-format off */
/* Updates in any case, so that the row is locked and its number returned. */
#define RUN_COLUMNS                                                                                \
    "tenant_id, agent_id, run_id, timestamp, agent_version, workflow_run_id, checksum"
#define KEEP_NEWER                                                                                 \
    " ON CONFLICT (tenant_id, run_id, agent_id) DO UPDATE SET"                                     \
    " agent_version = CASE WHEN excluded.timestamp >= business_runs.timestamp"                     \
    " THEN excluded.agent_version ELSE business_runs.agent_version END,"                           \
    " workflow_run_id = CASE WHEN excluded.timestamp >= business_runs.timestamp"                   \
    " THEN excluded.workflow_run_id ELSE business_runs.workflow_run_id END,"                       \
    " checksum = CASE WHEN excluded.timestamp >= business_runs.timestamp"                          \
    " THEN excluded.checksum ELSE business_runs.checksum END,"                                     \
    " timestamp = CASE WHEN excluded.timestamp >= business_runs.timestamp"                         \
    " THEN excluded.timestamp ELSE business_runs.timestamp END"                                    \
    " RETURNING run_no"
static const struct db_query ensure_run = {
    .sqlite = "INSERT INTO business_runs (" RUN_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7)"
              KEEP_NEWER,
    .postgres = "INSERT INTO business_runs (" RUN_COLUMNS ", run_no) OVERRIDING SYSTEM VALUE"
                " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)" KEEP_NEWER,
};
/* A report without values has no row of its own: no one could read it, and no quota counts it. */
DB_QUERY(update_run,
    "UPDATE business_runs SET timestamp = $4, agent_version = $5, workflow_run_id = $6,"
    " checksum = $7 WHERE tenant_id = $1 AND agent_id = $2 AND run_id = $3 AND timestamp <= $4");
/* An equal value is not written again: it keeps the time of its first arrival. */
#define PUT_VALUE                                                                                  \
    "INSERT INTO business_values (tenant_id, run_no, key, full_key, agent_id, timestamp,"          \
    " received_at, integer_value, real_value, text_value, checksum)"
#define REPLACE_VALUE                                                                              \
    " ON CONFLICT (tenant_id, run_no, key) DO UPDATE SET timestamp = excluded.timestamp,"          \
    " received_at = excluded.received_at, integer_value = excluded.integer_value,"                 \
    " real_value = excluded.real_value, text_value = excluded.text_value,"                         \
    " checksum = excluded.checksum"                                                                \
    " WHERE excluded.timestamp > business_values.timestamp"                                        \
    " OR (excluded.timestamp = business_values.timestamp"                                          \
    " AND (excluded.integer_value IS DISTINCT FROM business_values.integer_value"                  \
    " OR excluded.real_value IS DISTINCT FROM business_values.real_value"                          \
    " OR excluded.text_value IS DISTINCT FROM business_values.text_value))"
DB_QUERY(put_value,
    PUT_VALUE " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)" REPLACE_VALUE " RETURNING key");
/* The same for all values of a report, each of which would be a round trip. */
static const struct db_query put_all = {
    .postgres = PUT_VALUE " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[],"
                " $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],"
                " $9::double precision[], $10::text[], $11::bigint[])" REPLACE_VALUE " RETURNING key",
    .citus = "SELECT 1", /* one by one there */
};
/* The run's values of the keys in $3, a JSON array, with their indexes in it. PostgreSQL does not
 * flatten a LATERAL with an OFFSET: it looks each key up, and does not compare all pairs. */
static const struct db_query select_old = {
    .sqlite = "SELECT " BUSINESS_VALUE_SUMMED("v.") ", j.key"
              " FROM json_each($3) j CROSS JOIN business_values v"
              " WHERE v.tenant_id = $1 AND v.run_no = $2 AND v.key = j.value",
    .postgres = "SELECT v.*, j.place - 1"
                " FROM json_array_elements_text(CAST($3 AS json)) WITH ORDINALITY AS j (key, place)"
                " CROSS JOIN LATERAL (SELECT " BUSINESS_VALUE_SUMMED("x.") " FROM business_values x"
                " WHERE x.tenant_id = $1 AND x.run_no = $2 AND x.key = j.key OFFSET 0) v",
    .citus = "SELECT " BUSINESS_VALUE_SUMMED("v.") ", j.place - 1"
             " FROM json_array_elements_text(CAST($3 AS json)) WITH ORDINALITY AS j (key, place)"
             " JOIN business_values v ON v.tenant_id = $1 AND v.run_no = $2 AND v.key = j.key",
};
DB_QUERY(put_breakdown,
    "INSERT INTO business_breakdowns (tenant_id, run_no, metric, dimensions,"
    " full_dimensions, agent_id, timestamp, received_at, cells, checksum)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    " ON CONFLICT (tenant_id, run_no, metric, dimensions) DO UPDATE SET"
    " timestamp = excluded.timestamp, received_at = excluded.received_at,"
    " cells = excluded.cells, checksum = excluded.checksum"
    " WHERE excluded.timestamp > business_breakdowns.timestamp"
    " OR (excluded.timestamp = business_breakdowns.timestamp"
    " AND excluded.cells <> business_breakdowns.cells)");
#define BREAKDOWNS(bytes)                                                                          \
    "SELECT COUNT(*), COALESCE(SUM(" bytes "), 0) FROM business_breakdowns"                        \
    " WHERE tenant_id = $1 AND run_no = $2"
static const struct db_query count_breakdowns = {
    .sqlite = BREAKDOWNS(BUSINESS_BREAKDOWN_BYTES(STORED_TEXT_SQLITE)),
    .postgres = BREAKDOWNS(BUSINESS_BREAKDOWN_BYTES(STORED_TEXT_POSTGRES)),
};
/* clang-format on */

/* A stored value that the report may replace. */
struct old_value {
    bool there;
    bool replaced; /* or it was not there, and is now */
    struct kpi_value value;
    struct kpi_stamp place;
    int64_t bytes; /* that it counts for its tenant */
};

/* A dimension and its index in `by`. */
struct dimension {
    struct str name;
    size_t at;
};

static int compare_dimensions(const void *a, const void *b)
{
    return str_cmp(((const struct dimension *)a)->name, ((const struct dimension *)b)->name);
}

static struct dimension *sorted_dimensions(const struct list *by, struct arena *arena)
{
    const struct str *names = by->items;
    struct dimension *sorted = ARENA_ARRAY(arena, struct dimension, by->n);

    for (size_t i = 0; i < by->n; i++)
        sorted[i] = (struct dimension){ names[i], i };
    if (by->n > 1)
        qsort(sorted, by->n, sizeof(*sorted), compare_dimensions);
    return sorted;
}

static void add_names(struct buf *out, const struct dimension *sorted, size_t n)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, sorted[i].name);
    }
    buf_add_char(out, ']');
}

static void add_value(struct buf *out, const struct named_value *value)
{
    switch (value->kind) {
    case VALUE_INT:
        buf_add_int(out, value->integer);
        break;
    case VALUE_REAL:
        json_add_real(out, value->real);
        break;
    case VALUE_STR:
        buf_add_json(out, value->string);
        break;
    }
}

static void add_cells(struct buf *out, const struct list *rows, const struct dimension *sorted,
                      size_t n)
{
    const struct breakdown_row *cells = rows->items;

    buf_add_char(out, '[');
    for (size_t i = 0; i < rows->n; i++) {
        const struct named_value *values = cells[i].dimensions.items;

        buf_add_c(out, i > 0 ? ",[" : "[");
        for (size_t j = 0; j < n; j++) {
            add_value(out, &values[sorted[j].at]);
            buf_add_char(out, ',');
        }
        json_add_real(out, cells[i].value);
        buf_add_char(out, ']');
    }
    buf_add_char(out, ']');
}

/* `out` is scratch space. */
static struct business_breakdown_row breakdown_row(const struct business_breakdown *b,
                                                   struct arena *arena, struct buf *out)
{
    const struct dimension *sorted = sorted_dimensions(&b->by, arena);
    struct business_breakdown_row row = { .metric = b->metric };

    buf_clear(out);
    add_names(out, sorted, b->by.n);
    row.dimensions = store_name_key(arena_copy(arena, buf_str(out)), arena);
    buf_clear(out);
    add_cells(out, &b->rows, sorted, b->by.n);
    row.cells = arena_copy(arena, buf_str(out));
    return row;
}

/* Of two breakdowns by the same dimensions in one report the last is kept, as with two reports. */
static void add_breakdown(struct business_rows *rows, const struct business_breakdown_row *row)
{
    size_t i = 0;

    while (i < rows->n_breakdowns &&
           !(str_eq(rows->breakdowns[i].metric, row->metric) &&
             str_eq(rows->breakdowns[i].dimensions.key, row->dimensions.key)))
        i++;
    rows->breakdowns[i] = *row;
    if (i == rows->n_breakdowns)
        rows->n_breakdowns++;
}

static void add_keys(struct buf *out, const struct business_rows *rows)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < rows->n_values; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, rows->values[i].key.key);
    }
    buf_add_char(out, ']');
}

void business_prepare(const struct business_telemetry *report, struct arena *arena,
                      struct business_rows *ret)
{
    const struct named_value *values = report->metrics.items;
    const struct business_breakdown *breakdowns = report->breakdowns.items;
    BUF_SCOPED(out, SIZE_MAX); /* bounded by the size of the request body */

    *ret = (struct business_rows){ .report = report };
    ret->values = ARENA_ARRAY(arena, struct business_value_row, report->metrics.n);
    ret->old = ARENA_ARRAY(arena, struct old_value, report->metrics.n);
    ret->breakdowns = ARENA_ARRAY(arena, struct business_breakdown_row, report->breakdowns.n);
    for (; ret->n_values < report->metrics.n; ret->n_values++) {
        const struct named_value *value = &values[ret->n_values];

        ret->values[ret->n_values] =
            (struct business_value_row){ store_name_key(value->name, arena), value };
    }
    add_keys(&out, ret);
    ret->keys = arena_copy(arena, buf_str(&out));
    for (size_t i = 0; i < report->breakdowns.n; i++) {
        const struct business_breakdown_row row = breakdown_row(&breakdowns[i], arena, &out);

        add_breakdown(ret, &row);
    }
}

/* SQLite does not keep the sign of zero, so neither store does. */
static struct kpi_value kpi_value(const struct named_value *v)
{
    return (struct kpi_value){ .kind = v->kind,
                               .integer = v->kind == VALUE_INT ? v->integer : 0,
                               .real = v->kind != VALUE_REAL || v->real == 0.0 ? 0.0 : v->real };
}

struct putting {
    const struct report_key *place;
    const struct business_rows *rows;
    int64_t run_no;
    struct old_value *old; /* one per value of the report */
    int64_t replaced;      /* values and breakdowns */
    size_t next;           /* where the next key that was written is looked for */
};

/* As BUSINESS_VALUE_BYTES(). */
static int64_t value_bytes(struct str key, struct str full_key, struct str text)
{
    return (int64_t)(STORED_ROW_BYTES + key.len + full_key.len + text.len);
}

static bool read_old(void *ctx, const struct db_row *row)
{
    struct putting *p = ctx;

    /* A damaged one is reported, and replaced all the same. */
    (void)row_sum_check(&business_value_sum, row, 0);
    p->old[db_get_int(row, VALUE_AT_NEXT)] = (struct old_value){
        .there = true,
        .place = { db_get_int(row, VALUE_AT_TIMESTAMP), db_get_int(row, VALUE_AT_RECEIVED),
                   p->run_no },
        .value = kpi_value_read(row, VALUE_AT_NUMBER),
        .bytes = value_bytes(db_get_text(row, VALUE_AT_KEY), db_get_text(row, VALUE_AT_FULL_KEY),
                             db_get_text(row, VALUE_AT_TEXT)),
    };
    return true;
}

enum { VALUE_COLUMNS = 11 };

/* The parameters of the i-th value. */
static void fill_value(void *ctx, size_t i, struct db_value *ret)
{
    const struct putting *p = ctx;
    const struct name_key *key = &p->rows->values[i].key;
    const struct named_value *v = p->rows->values[i].value;
    const struct kpi_value value = kpi_value(v);
    const struct db_value args[VALUE_COLUMNS] = {
        db_int(p->place->tenant_id),
        db_int(p->run_no),
        db_text(key->key),
        db_text(key->full),
        db_int(p->place->agent_id),
        db_int(p->rows->report->timestamp),
        db_int(p->place->received_at),
        value.kind == VALUE_INT ? db_int(value.integer) : db_null(),
        value.kind == VALUE_REAL ? db_real(value.real) : db_null(),
        value.kind == VALUE_STR ? db_text(v->string) : db_null(),
    };

    memcpy(ret, args, sizeof(args));
    ret[VALUE_COLUMNS - 1] = row_sum_of(&business_value_sum, ret);
}

/* The i-th value was written: counts it. */
static void count_value(struct putting *p, size_t i, struct rollups *rollups)
{
    const struct name_key *key = &p->rows->values[i].key;
    const struct named_value *v = p->rows->values[i].value;
    const struct kpi_value value = kpi_value(v);
    const struct rollup_owner owner = { p->place->tenant_id, p->place->agent_id, *key };
    const struct kpi_stamp at = { p->rows->report->timestamp, p->place->received_at, p->run_no };

    p->replaced += p->old[i].there;
    stored_bytes_add(
        p->place->bytes, owner.tenant_id,
        value_bytes(key->key, key->full, value.kind == VALUE_STR ? v->string : STR_NULL) -
            p->old[i].bytes);
    if (p->old[i].there)
        rollups_remove(rollups, &owner, &p->old[i].value, &p->old[i].place);
    rollups_add(rollups, &owner, &value, &at);
}

/* Keys come back in the order in which they were given, without those that were not written: the
 * stored value is newer or equal. */
static bool read_written(void *ctx, const struct db_row *row)
{
    struct putting *p = ctx;
    const struct str key = db_get_text(row, 0);

    for (size_t n = p->rows->n_values; n > 0; n--) {
        const size_t i = p->next++ % p->rows->n_values;

        if (str_eq(p->rows->values[i].key.key, key)) {
            p->old[i].replaced = true;
            break;
        }
    }
    return true;
}

static int put_values(struct db *db, struct putting *p, struct rollups *rollups, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(p->place->tenant_id), db_int(p->run_no), db_text(p->rows->keys));
    const struct pg_rows values = { .one = &put_value,
                                    .all = &put_all,
                                    .undistributed = true,
                                    .n = p->rows->n_values,
                                    .n_columns = VALUE_COLUMNS,
                                    .fill = fill_value,
                                    .on_row = read_written,
                                    .ctx = p };
    ARENA_SCOPED(arena);

    if (p->rows->n_values == 0)
        return 0;
    memset(p->old, 0, p->rows->n_values * sizeof(*p->old));
    if (db_exec(db, &select_old, args, read_old, p, err) != 0 ||
        pg_exec_rows(db, &values, &arena, err) != 0)
        return -1;
    for (size_t i = 0; i < p->rows->n_values; i++)
        if (p->old[i].replaced)
            count_value(p, i, rollups);
    return 0;
}

/* Those of a run. */
struct breakdowns {
    int64_t n, bytes;
};

static bool read_breakdowns(void *ctx, const struct db_row *row)
{
    *(struct breakdowns *)ctx = (struct breakdowns){ db_get_int(row, 0), db_get_int(row, 1) };
    return false;
}

/* Those that were written, but not added, replaced another. */
static int put_breakdowns(struct db *db, struct putting *p, struct error *err)
{
    const struct business_rows *rows = p->rows;
    const struct report_key *place = p->place;
    const struct db_args of_run = DB_ARGS(db_int(place->tenant_id), db_int(p->run_no));
    struct breakdowns before, after;
    int64_t written = 0;

    if (rows->n_breakdowns == 0)
        return 0;
    if (db_exec(db, &count_breakdowns, of_run, read_breakdowns, &before, err) != 0)
        return -1;
    for (size_t i = 0; i < rows->n_breakdowns; i++) {
        const struct business_breakdown_row *b = &rows->breakdowns[i];
        struct db_value args[] = { db_int(place->tenant_id),
                                   db_int(p->run_no),
                                   db_text(b->metric),
                                   db_text(b->dimensions.key),
                                   db_text(b->dimensions.full),
                                   db_int(place->agent_id),
                                   db_int(rows->report->timestamp),
                                   db_int(place->received_at),
                                   db_text(b->cells),
                                   db_null() };

        args[COUNT_OF(args) - 1] = row_sum_of(&business_breakdown_sum, args);
        if (db_run(db, &put_breakdown, DB_ARGS_OF(args), err) != 0)
            return -1;
        written += db_changes(db);
    }
    if (db_exec(db, &count_breakdowns, of_run, read_breakdowns, &after, err) != 0)
        return -1;
    p->replaced += written - (after.n - before.n);
    stored_bytes_add(place->bytes, place->tenant_id, after.bytes - before.bytes);
    return 0;
}

int business_put(struct db *db, const struct report_key *place, const struct business_rows *rows,
                 struct rollups *rollups, int64_t *ret_replaced, struct error *err)
{
    const struct business_telemetry *report = rows->report;
    struct db_value args[] = { db_int(place->tenant_id),
                               db_int(place->agent_id),
                               db_text(report->run_id),
                               db_int(report->timestamp),
                               db_text(report->agent_version),
                               db_text(report->workflow_run_id),
                               db_null(),
                               db_int(db_number(db)) };
    struct putting p = { .place = place, .rows = rows, .old = rows->old };

    args[COUNT_OF(args) - 2] = row_sum_of(&business_run_sum, args);
    *ret_replaced = 0;
    if (rows->n_values == 0 && rows->n_breakdowns == 0)
        return db_run(db, &update_run, (struct db_args){ args, COUNT_OF(args) - 1 }, err);
    if (db_exec(db, &ensure_run, DB_ARGS_OF(args), db_read_int, &p.run_no, err) != 0)
        return -1;
    if (put_values(db, &p, rollups, err) != 0 || put_breakdowns(db, &p, err) != 0)
        return -1;
    *ret_replaced = p.replaced;
    return 0;
}

/* clang-format off */
/* $3 is a JSON array of keys, so that one query covers a whole report; the result is their indexes
 * in it. PostgreSQL looks keys up in a hash table for NOT IN; NOT EXISTS it may plan as a loop over all
 * pairs, as long as it has no statistics. */
static const struct db_query select_undeclared = {
    .sqlite = "SELECT j.key FROM json_each($3) j WHERE NOT EXISTS (SELECT 1 FROM kpis k"
              " WHERE k.tenant_id = $1 AND k.agent_id = $2 AND k.key = j.value) ORDER BY j.key",
    .postgres = "SELECT j.place - 1 FROM json_array_elements_text(CAST($3 AS json))"
                " WITH ORDINALITY AS j (key, place) WHERE j.key NOT IN (SELECT k.key FROM kpis k"
                " WHERE k.tenant_id = $1 AND k.agent_id = $2) ORDER BY j.place",
    .citus = "SELECT j.place - 1 FROM json_array_elements_text(CAST($3 AS json))"
             " WITH ORDINALITY AS j (key, place) WHERE NOT EXISTS (SELECT 1 FROM kpis k"
             " WHERE k.tenant_id = $1 AND k.agent_id = $2 AND k.key = j.key) ORDER BY j.place",
};
/* clang-format on */

struct undeclared {
    const struct business_rows *rows;
    struct str *names;
    size_t n;
};

static bool add_undeclared(void *ctx, const struct db_row *row)
{
    struct undeclared *u = ctx;

    u->names[u->n++] = u->rows->values[db_get_int(row, 0)].value->name;
    return true;
}

int business_undeclared(struct db *db, const struct report_key *place,
                        const struct business_rows *rows, struct arena *arena, struct list *ret,
                        struct error *err)
{
    struct undeclared u = { .rows = rows };
    int r;

    *ret = (struct list){ 0 };
    if (rows->n_values == 0)
        return 0;
    u.names = ARENA_ARRAY(arena, struct str, rows->n_values);
    r = db_exec(db, &select_undeclared,
                DB_ARGS(db_int(place->tenant_id), db_int(place->agent_id), db_text(rows->keys)),
                add_undeclared, &u, err);
    if (r == 0)
        *ret = (struct list){ u.names, u.n };
    return r;
}
