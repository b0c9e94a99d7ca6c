/* rollup_rows.c - SQL of series and their totals.
 *
 * SQLite runs one small statement per row; PostgreSQL, where every statement
 * is a network round trip, handles all rows in one. Where tenants are
 * distributed, it is one for each tenant, and then the first argument is the
 * tenant instead of an array of tenants.
 */
#include <stdlib.h>

#include "db/postgres/array.h"
#include "features/kpis/report_sums.h"
#include "features/kpis/rollup_group.h"

/* clang-format off */
DB_QUERY(find_series,
    "SELECT series_no FROM business_series"
    " WHERE tenant_id = $1 AND key = $2 AND agent_id = $3");
DB_QUERY(insert_series,
    "INSERT INTO business_series (tenant_id, key, agent_id, full_key)"
    " VALUES ($1, $2, $3, $4) RETURNING series_no");
DB_QUERY(select_state,
    "SELECT state FROM business_rollups"
    " WHERE tenant_id = $1 AND series_no = $2 AND level = $3 AND start = $4");
DB_QUERY(put_state,
    "INSERT INTO business_rollups (tenant_id, series_no, level, start, state)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant_id, series_no, level, start)"
    " DO UPDATE SET state = excluded.state");

/* The same for many rows. Ordered, so that no two transactions deadlock. */
static const struct db_query lock_series = {
    .postgres = "SELECT x.place - 1, s.series_no FROM business_series s"
                " JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY"
                " AS x(t, k, a, place)"
                " ON s.tenant_id = x.t AND s.key = x.k AND s.agent_id = x.a"
                " ORDER BY s.tenant_id, s.series_no FOR UPDATE OF s",
    .citus = "SELECT x.place - 1, s.series_no FROM business_series s"
             " JOIN unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS x(k, a, place)"
             " ON s.key = x.k AND s.agent_id = x.a WHERE s.tenant_id = $1"
             " AND s.key = ANY ($2::text[]) ORDER BY s.series_no FOR UPDATE OF s",
};
static const struct db_query add_series = {
    .postgres = "INSERT INTO business_series (tenant_id, key, agent_id, full_key, series_no)"
                " OVERRIDING SYSTEM VALUE SELECT t, k, a, f, no FROM unnest($1::bigint[], $2::text[],"
                " $3::bigint[], $4::text[], $5::bigint[]) AS x(t, k, a, f, no)"
                " ON CONFLICT (tenant_id, key, agent_id) DO NOTHING",
    .citus = "INSERT INTO business_series (tenant_id, key, agent_id, full_key, series_no)"
             " OVERRIDING SYSTEM VALUE SELECT g.tenant_id, k, a, f, no FROM agents g,"
             " unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[]) AS x(k, a, f, no)"
             " WHERE g.tenant_id = $1 AND g.agent_id = ($3::bigint[])[1]"
             " ON CONFLICT (tenant_id, key, agent_id) DO NOTHING",
};
static const struct db_query select_states = {
    .postgres = "SELECT x.place - 1, r.state FROM business_rollups r"
                " JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])"
                " WITH ORDINALITY AS x(t, s, l, b, place) ON r.tenant_id = x.t"
                " AND r.series_no = x.s AND r.level = x.l AND r.start = x.b",
    .citus = "SELECT x.place - 1, r.state FROM business_rollups r"
             " JOIN unnest($2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY"
             " AS x(s, l, b, place) ON r.series_no = x.s AND r.level = x.l AND r.start = x.b"
             " WHERE r.tenant_id = $1 AND r.series_no = ANY ($2::bigint[])",
};
static const struct db_query put_states = {
    .postgres = "INSERT INTO business_rollups (tenant_id, series_no, level, start, state)"
                " SELECT t, s, l, b, decode(h, 'hex') FROM unnest($1::bigint[], $2::bigint[],"
                " $3::bigint[], $4::bigint[], $5::text[]) AS x(t, s, l, b, h)"
                " ON CONFLICT (tenant_id, series_no, level, start)"
                " DO UPDATE SET state = excluded.state",
    .citus = "INSERT INTO business_rollups (tenant_id, series_no, level, start, state)"
             " SELECT g.tenant_id, s, l, b, decode(h, 'hex') FROM business_series g,"
             " unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS x(s, l, b, h)"
             " WHERE g.tenant_id = $1 AND g.series_no = ($2::bigint[])[1]"
             " ON CONFLICT (tenant_id, series_no, level, start)"
             " DO UPDATE SET state = excluded.state",
};

/* The values of an hour that decide its last value and its maximum: the latest, the greatest integer
 * and the greatest real, each the end of an index, however many values there are. The numbers are
 * those of migration 27. */
#define CANDIDATE "SELECT " BUSINESS_VALUE_SUMMED("") " FROM business_values"
#define HOUR_OF(time) "(" time " + 63072000000000000) / 3600000000"
#define OF_SERIES(t, k, a) " WHERE tenant_id = " t " AND key = " k " AND agent_id = " a
#define LATEST(t, k, a, since, until)                                                              \
    CANDIDATE OF_SERIES(t, k, a) " AND timestamp >= " since " AND timestamp < " until              \
    " ORDER BY timestamp DESC, received_at DESC, run_no DESC LIMIT 1"
#define GREATEST(column, t, k, a, since)                                                           \
    CANDIDATE OF_SERIES(t, k, a) " AND " HOUR_OF("timestamp") " = " HOUR_OF(since)                 \
    " AND " column " IS NOT NULL ORDER BY " column " DESC LIMIT 1"
static const struct db_query select_candidates = {
    .sqlite = "SELECT * FROM (" LATEST("$1", "$2", "$3", "$4", "$5") ") UNION ALL"
              " SELECT * FROM (" GREATEST("integer_value", "$1", "$2", "$3", "$4") ") UNION ALL"
              " SELECT * FROM (" GREATEST("real_value", "$1", "$2", "$3", "$4") ")",
    .postgres = "SELECT v.*, x.place - 1 FROM unnest($1::bigint[], $2::text[], $3::bigint[],"
                " $4::bigint[], $5::bigint[]) WITH ORDINALITY AS x(t, k, a, since, until, place)"
                " CROSS JOIN LATERAL ((" LATEST("x.t", "x.k", "x.a", "x.since", "x.until") ")"
                " UNION ALL (" GREATEST("integer_value", "x.t", "x.k", "x.a", "x.since") ")"
                " UNION ALL (" GREATEST("real_value", "x.t", "x.k", "x.a", "x.since") ")) v",
    .citus = "SELECT v.*, x.place - 1 FROM unnest($2::text[], $3::bigint[], $4::bigint[],"
             " $5::bigint[]) WITH ORDINALITY AS x(k, a, since, until, place)"
             " CROSS JOIN LATERAL ((" LATEST("$1", "x.k", "x.a", "x.since", "x.until") ")"
             " UNION ALL (" GREATEST("integer_value", "$1", "x.k", "x.a", "x.since") ")"
             " UNION ALL (" GREATEST("real_value", "$1", "x.k", "x.a", "x.since") ")) v",
};
static const struct db_query select_hours = {
    .sqlite = "SELECT state FROM business_rollups WHERE tenant_id = $1 AND series_no = $2"
              " AND level = 0 AND start >= $3 AND start < $4",
    .postgres = "SELECT v.state, x.place - 1 FROM unnest($1::bigint[], $2::bigint[],"
                " $3::bigint[], $4::bigint[]) WITH ORDINALITY AS x(t, s, since, until, place)"
                " CROSS JOIN LATERAL (SELECT state FROM business_rollups WHERE tenant_id = x.t"
                " AND series_no = x.s AND level = 0 AND start >= x.since AND start < x.until"
                " OFFSET 0) v",
    .citus = "SELECT v.state, x.place - 1 FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])"
             " WITH ORDINALITY AS x(s, since, until, place)"
             " CROSS JOIN LATERAL (SELECT state FROM business_rollups WHERE tenant_id = $1"
             " AND series_no = x.s AND level = 0 AND start >= x.since AND start < x.until"
             " OFFSET 0) v",
};
/* clang-format on */

static bool is_postgres(const struct db *db)
{
    return strcmp(db_dialect(db), "postgres") == 0;
}

static int bad_state(struct error *err)
{
    return err_set(err, ERR_SCHEMA, "stored KPI total is malformed");
}

static int by_owner(const void *a, const void *b)
{
    const struct rollup_series *x = *(struct rollup_series *const *)a;
    const struct rollup_series *y = *(struct rollup_series *const *)b;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    if (x->agent_id != y->agent_id)
        return x->agent_id < y->agent_id ? -1 : 1;
    return str_cmp(x->key.key, y->key.key);
}

static int resolve_each(struct db *db, struct rollups *r, struct error *err)
{
    for (size_t i = 0; i < r->n_series; i++) {
        struct rollup_series *s = r->series[i];
        const struct db_args args = DB_ARGS(db_int(s->tenant_id), db_text(s->key.key),
                                            db_int(s->agent_id), db_text(s->key.full));

        if (db_exec(db, &find_series, args, db_read_int, &s->series_no, err) != 0)
            return -1;
        if (s->series_no == 0 &&
            db_exec(db, &insert_series, args, db_read_int, &s->series_no, err) != 0)
            return -1;
    }
    return 0;
}

static bool rollup_read_series(void *ctx, const struct db_row *row)
{
    struct rollup_series **span = (struct rollup_series **)ctx;

    span[db_get_int(row, 0)]->series_no = db_get_int(row, 1);
    return true;
}

/* The arrays as arguments; the first is that of the tenants. */
static void take_args(const struct db *db, struct pg_arrays *arrays, int64_t tenant_id,
                      struct db_value *ret)
{
    pg_arrays_args(arrays, ret);
    if (db_is_distributed(db))
        ret[0] = db_int(tenant_id);
}

/* Where the statement that begins with this series, or bucket, ends: with its tenant's last in a
 * row, or with the last of all. */
static size_t series_end(const struct db *db, const struct rollups *r, size_t begin)
{
    size_t end = begin + 1;

    while (end < r->n_series &&
           (!db_is_distributed(db) || r->series[end]->tenant_id == r->series[begin]->tenant_id))
        end++;
    return end;
}

static size_t buckets_end(const struct db *db, const struct rollup_list *list, size_t begin)
{
    const int64_t tenant_id = list->items[begin]->series->tenant_id;
    size_t end = begin + 1;

    while (end < list->n &&
           (!db_is_distributed(db) || list->items[end]->series->tenant_id == tenant_id))
        end++;
    return end;
}

/* Runs q for the owners of all series from `begin` to `end`, or of those without a number yet. */
static int exec_span(struct db *db, struct rollups *r, size_t begin, size_t end,
                     const struct db_query *q, struct error *err)
{
    const bool missing = q == &add_series;
    struct db_value args[5];
    int res = 0;
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), &r->arena);

    for (size_t i = begin; i < end; i++) {
        const struct rollup_series *s = r->series[i];
        const struct db_value values[] = { db_int(s->tenant_id), db_text(s->key.key),
                                           db_int(s->agent_id), db_text(s->key.full),
                                           db_int(missing ? db_number(db) : 0) };

        if (!missing || s->series_no == 0)
            pg_arrays_add(&arrays, values);
    }
    take_args(db, &arrays, r->series[begin]->tenant_id, args);
    if (arrays.n_rows > 0)
        res = db_exec(db, q, DB_ARGS_OF(args), missing ? NULL : rollup_read_series,
                      (void *)(r->series + begin), err);
    return res;
}

static int exec_owners(struct db *db, struct rollups *r, const struct db_query *q,
                       struct error *err)
{
    for (size_t begin = 0, end; begin < r->n_series; begin = end) {
        end = series_end(db, r, begin);
        if (exec_span(db, r, begin, end, q, err) != 0)
            return -1;
    }
    return 0;
}

static bool are_known(const struct rollups *r)
{
    for (size_t i = 0; i < r->n_series; i++)
        if (r->series[i]->series_no == 0)
            return false;
    return true;
}

/* Another process may insert the same series concurrently: the conflict is ignored. */
static int resolve_all(struct db *db, struct rollups *r, struct error *err)
{
    if (exec_owners(db, r, &lock_series, err) != 0)
        return -1;
    if (are_known(r))
        return 0;
    if (exec_owners(db, r, &add_series, err) != 0 || exec_owners(db, r, &lock_series, err) != 0)
        return -1;
    return are_known(r) ? 0 : err_set(err, ERR_INTERNAL, "a KPI series could not be inserted");
}

int rollup_rows_resolve(struct db *db, struct rollups *r, struct error *err)
{
    qsort((void *)r->series, r->n_series, sizeof(*r->series), by_owner);
    return is_postgres(db) ? resolve_all(db, r, err) : resolve_each(db, r, err);
}

struct loading {
    const struct rollup_list *list;
    size_t at; /* index of the statement's first row */
    unsigned state_column;
    bool bad;
};

static bool rollup_read_state(void *ctx, const struct db_row *row)
{
    struct loading *l = ctx;
    size_t at = l->at + (l->state_column == 0 ? 0 : (size_t)db_get_int(row, 0));

    l->bad |= !kpi_state_read(db_get_blob(row, l->state_column), &l->list->items[at]->stored);
    return true;
}

static void bucket_args(const struct rollup_bucket *b, struct db_value ret[4])
{
    ret[0] = db_int(b->series->tenant_id);
    ret[1] = db_int(b->series->series_no);
    ret[2] = db_int(b->level);
    ret[3] = db_int(b->start);
}

static int load_span(struct db *db, struct rollups *r, struct loading *l, size_t end,
                     struct error *err)
{
    struct db_value args[4];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), &r->arena);

    for (size_t i = l->at; i < end; i++) {
        bucket_args(l->list->items[i], args);
        pg_arrays_add(&arrays, args);
    }
    take_args(db, &arrays, l->list->items[l->at]->series->tenant_id, args);
    return db_exec(db, &select_states, DB_ARGS_OF(args), rollup_read_state, l, err);
}

static int load_all(struct db *db, struct rollups *r, struct loading *l, struct error *err)
{
    for (size_t end; l->at < l->list->n; l->at = end) {
        end = buckets_end(db, l->list, l->at);
        if (load_span(db, r, l, end, err) != 0)
            return -1;
    }
    return 0;
}

int rollup_rows_load(struct db *db, struct rollups *r, const struct rollup_list *list,
                     struct error *err)
{
    struct loading l = { .list = list, .state_column = is_postgres(db) ? 1 : 0 };
    struct db_value args[4];

    if (l.state_column == 1) {
        if (load_all(db, r, &l, err) != 0)
            return -1;
        return l.bad ? bad_state(err) : 0;
    }
    for (; l.at < list->n; l.at++) {
        bucket_args(list->items[l.at], args);
        if (db_exec(db, &select_state, DB_ARGS_OF(args), rollup_read_state, &l, err) != 0)
            return -1;
    }
    return l.bad ? bad_state(err) : 0;
}

static struct str hex_of(struct str bytes, char *ret)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.len; i++) {
        ret[2 * i] = digits[(unsigned char)bytes.data[i] >> 4];
        ret[2 * i + 1] = digits[(unsigned char)bytes.data[i] & 15];
    }
    return str_from(ret, 2 * bytes.len);
}

static int save_span(struct db *db, struct rollups *r, const struct rollup_list *list, size_t begin,
                     size_t end, struct error *err)
{
    struct db_value args[5];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), &r->arena);

    for (size_t i = begin; i < end; i++) {
        uint8_t bytes[KPI_STATE_BYTES_MAX];
        char hex[2 * KPI_STATE_BYTES_MAX];

        bucket_args(list->items[i], args);
        args[4] = db_text(hex_of(kpi_state_write(&list->items[i]->stored, bytes), hex));
        pg_arrays_add(&arrays, args);
    }
    take_args(db, &arrays, list->items[begin]->series->tenant_id, args);
    return db_run(db, &put_states, DB_ARGS_OF(args), err);
}

static int save_all(struct db *db, struct rollups *r, const struct rollup_list *list,
                    struct error *err)
{
    for (size_t begin = 0, end; begin < list->n; begin = end) {
        end = buckets_end(db, list, begin);
        if (save_span(db, r, list, begin, end, err) != 0)
            return -1;
    }
    return 0;
}

int rollup_rows_save(struct db *db, struct rollups *r, const struct rollup_list *list,
                     struct error *err)
{
    if (is_postgres(db))
        return save_all(db, r, list, err);
    for (size_t i = 0; i < list->n; i++) {
        uint8_t bytes[KPI_STATE_BYTES_MAX];
        struct db_value args[5];

        bucket_args(list->items[i], args);
        args[4] = db_blob(kpi_state_write(&list->items[i]->stored, bytes));
        if (db_run(db, &put_state, DB_ARGS_OF(args), err) != 0)
            return -1;
    }
    return 0;
}

/* A search for the maximum and the last value of some buckets. */
struct search {
    const struct rollup_list *list;
    size_t at; /* index of the statement's first bucket */
    bool all;  /* one statement for many: the last column is the index among them */
    bool bad;
};

static struct kpi_state *found_at(const struct search *s, const struct db_row *row, unsigned column)
{
    return s->list->items[s->at + (s->all ? (size_t)db_get_int(row, column) : 0)]->found;
}

static bool rollup_add_candidate(void *ctx, const struct db_row *row)
{
    const struct kpi_value value = kpi_value_read(row, VALUE_AT_NUMBER);
    const struct kpi_stamp place = { db_get_int(row, VALUE_AT_TIMESTAMP),
                                     db_get_int(row, VALUE_AT_RECEIVED),
                                     db_get_int(row, VALUE_AT_RUN_NO) };

    /* A damaged one is reported. Another cannot take its place here, and the report that is being
     * stored must not fail for it. */
    (void)row_sum_check(&business_value_sum, row, 0);
    kpi_state_add(found_at(ctx, row, VALUE_AT_NEXT), &value, &place);
    return true;
}

static bool rollup_add_hour(void *ctx, const struct db_row *row)
{
    struct search *s = ctx;
    struct kpi_state hour;

    if (kpi_state_read(db_get_blob(row, 0), &hour))
        kpi_state_merge(found_at(s, row, 1), &hour);
    else
        s->bad = true;
    return true;
}

enum { SEARCH_ARGS_MAX = 5 };

/* Returns how many arguments select_candidates or select_hours takes. */
static size_t search_args(const struct rollup_bucket *b, struct db_value ret[SEARCH_ARGS_MAX])
{
    size_t n = 0;

    ret[n++] = db_int(b->series->tenant_id);
    if (b->level == ROLLUP_HOUR) {
        ret[n++] = db_text(b->series->key.key);
        ret[n++] = db_int(b->series->agent_id);
    } else {
        ret[n++] = db_int(b->series->series_no);
    }
    ret[n++] = db_int(b->start);
    ret[n++] = db_int(rollup_next(b->level, b->start));
    return n;
}

static int search_span(struct db *db, struct rollups *r, struct search *s, enum rollup_level level,
                       size_t end, struct error *err)
{
    const struct db_query *q = level == ROLLUP_HOUR ? &select_candidates : &select_hours;
    db_row_fn *add = level == ROLLUP_HOUR ? rollup_add_candidate : rollup_add_hour;
    struct db_value args[SEARCH_ARGS_MAX];
    size_t n = search_args(s->list->items[s->at], args);

    if (!s->all)
        return db_exec(db, q, (struct db_args){ args, n }, add, s, err);
    PG_ARRAYS_SCOPED(arrays, n, &r->arena);
    for (size_t i = s->at; i < end; i++) {
        (void)search_args(s->list->items[i], args);
        pg_arrays_add(&arrays, args);
    }
    take_args(db, &arrays, s->list->items[s->at]->series->tenant_id, args);
    return db_exec(db, q, (struct db_args){ args, n }, add, s, err);
}

int rollup_rows_find(struct db *db, struct rollups *r, enum rollup_level level,
                     const struct rollup_list *list, struct error *err)
{
    struct search s = { .list = list, .all = is_postgres(db) };

    for (size_t i = 0; i < list->n; i++)
        list->items[i]->found = ARENA_NEW(&r->arena, struct kpi_state);
    for (size_t end; s.at < list->n; s.at = end) {
        end = s.all ? buckets_end(db, list, s.at) : s.at + 1;
        if (search_span(db, r, &s, level, end, err) != 0)
            return -1;
    }
    return s.bad ? bad_state(err) : 0;
}
