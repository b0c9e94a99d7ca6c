/* rollups.c - collects a transaction's changes of values and updates their totals.
 *
 * Totals of hours and days in which no value is left are deleted: a report that
 * replaces another may move its values to another hour, and if the totals that
 * they leave stayed, a client could store any number of them.
 */
#include "features/kpis/rollups.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "db/lists.h"
#include "db/servers.h"
#include "features/access/retention.h"
#include "features/kpis/report_sums.h"
#include "shape/timerange.h"

const char rollups_part[] = "rollups";

/* clang-format off */
DB_QUERY(find_series,
    "SELECT 0, series_no FROM business_series"
    " WHERE tenant_id = $1 AND key = $2 AND agent_id = $3");
DB_QUERY(insert_series,
    "INSERT INTO business_series (tenant_id, key, agent_id, full_key)"
    " VALUES ($1, $2, $3, $4)");
DB_QUERY(select_state,
    "SELECT 0, state FROM business_rollups"
    " WHERE tenant_id = $1 AND series_no = $2 AND level = $3 AND start = $4");
DB_QUERY(put_state,
    "INSERT INTO business_rollups (tenant_id, series_no, level, start, state)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant_id, series_no, level, start)"
    " DO UPDATE SET state = excluded.state");
DB_QUERY(delete_state,
    "DELETE FROM business_rollups"
    " WHERE tenant_id = $1 AND series_no = $2 AND level = $3 AND start = $4");

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
static const struct db_query delete_states = {
    .postgres = "DELETE FROM business_rollups r USING unnest($1::bigint[], $2::bigint[],"
                " $3::bigint[], $4::bigint[]) AS x(t, s, l, b) WHERE r.tenant_id = x.t"
                " AND r.series_no = x.s AND r.level = x.l AND r.start = x.b",
    .citus = "SELECT 1", /* one by one there */
};

/* The values of an hour that decide its last value and its maximum: the latest, the greatest integer
 * and the greatest real, each the end of an index, however many values there are. The numbers are
 * those of the indexes. */
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
    .sqlite = "SELECT *, 0 FROM (" LATEST("$1", "$2", "$3", "$4", "$5") ") UNION ALL"
              " SELECT *, 0 FROM (" GREATEST("integer_value", "$1", "$2", "$3", "$4") ") UNION ALL"
              " SELECT *, 0 FROM (" GREATEST("real_value", "$1", "$2", "$3", "$4") ")",
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
    .sqlite = "SELECT state, 0 FROM business_rollups WHERE tenant_id = $1 AND series_no = $2"
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

struct rollup_series {
    int64_t tenant_id, agent_id, series_no; /* series_no 0: not known yet */
    struct name_key key;
    struct str id; /* key in series_by_id */
};

/* One hour or day of a series. */
struct rollup_bucket {
    struct rollup_series *series;
    enum rollup_level level;
    int64_t start;
    struct str id;
    struct kpi_state added, stored;
    struct kpi_state *removed; /* or NULL */
    struct kpi_state *found;   /* only its maximum and last value are of use; NULL: not searched */
};

struct rollup_list {
    struct rollup_bucket **items;
    size_t n, capacity;
};

struct rollups {
    struct arena arena;
    struct map series_by_id, buckets_by_id;
    struct rollup_series **series;
    size_t n_series, series_capacity;
    struct rollup_list levels[ROLLUP_LEVELS];
    struct rollup_list unknown; /* of the level being settled: without a maximum or last value */
    struct rollup_list kept, empty; /* of the same level: rows with values, rows without */
};

struct rollups *rollups_new(void)
{
    struct rollups *r = NEW(struct rollups);

    arena_init(&r->arena);
    map_init(&r->series_by_id);
    map_init(&r->buckets_by_id);
    return r;
}

void rollups_free(struct rollups *r)
{
    if (r == NULL)
        return;
    map_done(&r->series_by_id);
    map_done(&r->buckets_by_id);
    arena_done(&r->arena);
    free((void *)r->series);
    for (size_t i = 0; i < ROLLUP_LEVELS; i++)
        free((void *)r->levels[i].items);
    free((void *)r->unknown.items);
    free((void *)r->kept.items);
    free((void *)r->empty.items);
    free(r);
}

void rollups_forget(struct rollups *r)
{
    if (r->n_series == 0)
        return;
    map_done(&r->series_by_id);
    map_done(&r->buckets_by_id);
    map_init(&r->series_by_id);
    map_init(&r->buckets_by_id);
    arena_reset(&r->arena);
    r->n_series = 0;
    for (size_t i = 0; i < ROLLUP_LEVELS; i++)
        r->levels[i].n = 0;
}

static enum bucket bucket_of(enum rollup_level level)
{
    return level == ROLLUP_HOUR ? BUCKET_HOUR : BUCKET_DAY;
}

int64_t rollup_start(enum rollup_level level, int64_t us)
{
    return timerange_bucket_start(bucket_of(level), us);
}

int64_t rollup_next(enum rollup_level level, int64_t us)
{
    return timerange_bucket_next(bucket_of(level), us);
}

static struct rollup_series *new_series(struct rollups *r, const struct rollup_owner *owner,
                                        struct str id)
{
    struct rollup_series *series = ARENA_NEW(&r->arena, struct rollup_series);

    *series = (struct rollup_series){ .tenant_id = owner->tenant_id,
                                      .agent_id = owner->agent_id,
                                      .key = { arena_copy(&r->arena, owner->key.key),
                                               arena_copy(&r->arena, owner->key.full) },
                                      .id = arena_copy(&r->arena, id) };
    (void)map_put(&r->series_by_id, series->id, series);
    r->series = (struct rollup_series **)mem_grow((void *)r->series, r->n_series,
                                                  &r->series_capacity, sizeof(*r->series));
    r->series[r->n_series++] = series;
    return series;
}

static struct rollup_series *series_of(struct rollups *r, const struct rollup_owner *owner)
{
    const int64_t numbers[] = { owner->tenant_id, owner->agent_id };
    size_t len = sizeof(numbers) + owner->key.key.len;
    char id[sizeof(numbers) + NAME_KEY_LEN_MAX];
    struct rollup_series *series;

    memcpy(id, numbers, sizeof(numbers));
    memcpy(id + sizeof(numbers), owner->key.key.data, owner->key.key.len);
    series = map_get(&r->series_by_id, str_from(id, len));
    return series != NULL ? series : new_series(r, owner, str_from(id, len));
}

static void list_add(struct rollup_list *list, struct rollup_bucket *bucket)
{
    list->items = (struct rollup_bucket **)mem_grow((void *)list->items, list->n, &list->capacity,
                                                    sizeof(*list->items));
    list->items[list->n++] = bucket;
}

/* The key in buckets_by_id. */
struct bucket_id {
    const struct rollup_series *series;
    int64_t level, start;
};

static struct rollup_bucket *find_bucket(struct rollups *r, struct rollup_series *series,
                                         enum rollup_level level, int64_t timestamp)
{
    const struct bucket_id id = { series, (int64_t)level, rollup_start(level, timestamp) };
    struct rollup_bucket *bucket =
        map_get(&r->buckets_by_id, str_from((const char *)&id, sizeof(id)));

    if (bucket != NULL)
        return bucket;
    bucket = ARENA_NEW(&r->arena, struct rollup_bucket);
    bucket->series = series;
    bucket->level = level;
    bucket->start = id.start;
    bucket->id = arena_copy(&r->arena, str_from((const char *)&id, sizeof(id)));
    (void)map_put(&r->buckets_by_id, bucket->id, bucket);
    list_add(&r->levels[level], bucket);
    return bucket;
}

void rollups_add(struct rollups *r, const struct rollup_owner *owner, const struct kpi_value *value,
                 const struct kpi_stamp *place)
{
    struct rollup_series *series = series_of(r, owner);

    for (enum rollup_level level = ROLLUP_HOUR; level < ROLLUP_LEVELS; level++)
        kpi_state_add(&find_bucket(r, series, level, place->timestamp)->added, value, place);
}

void rollups_remove(struct rollups *r, const struct rollup_owner *owner,
                    const struct kpi_value *value, const struct kpi_stamp *place)
{
    struct rollup_series *series = series_of(r, owner);

    for (enum rollup_level level = ROLLUP_HOUR; level < ROLLUP_LEVELS; level++) {
        struct rollup_bucket *bucket = find_bucket(r, series, level, place->timestamp);

        if (bucket->removed == NULL)
            bucket->removed = ARENA_NEW(&r->arena, struct kpi_state);
        kpi_state_add(bucket->removed, value, place);
    }
}

/* Some series or buckets that a statement is run for. A row of its result begins with the place of
 * what it is of among the statement's rows, or ends with it. */
struct rollup_rows {
    struct rollup_series **series;
    struct rollup_bucket **buckets;
    size_t at; /* of the statement's first row */
    bool in_hex, bad;
    uint8_t bytes[KPI_STATE_BYTES_MAX];
    char hex[2 * KPI_STATE_BYTES_MAX];
};

static struct rollup_bucket *bucket_at(const struct rollup_rows *rows, const struct db_row *row,
                                       unsigned column)
{
    return rows->buckets[rows->at + (size_t)db_get_int(row, column)];
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

static bool rollup_read_series(void *ctx, const struct db_row *row)
{
    const struct rollup_rows *rows = ctx;

    rows->series[rows->at + (size_t)db_get_int(row, 0)]->series_no = db_get_int(row, 1);
    return true;
}

static void fill_series(void *ctx, size_t i, struct db_value *ret)
{
    const struct rollup_rows *rows = ctx;
    const struct rollup_series *s = rows->series[i];

    ret[0] = db_int(s->tenant_id);
    ret[1] = db_text(s->key.key);
    ret[2] = db_int(s->agent_id);
    ret[3] = db_text(s->key.full);
    ret[4] = db_int(s->series_no);
}

/* Finds the number of each series; in PostgreSQL also locks them, always in the same order. */
static int find_numbers(struct rollups *r, struct db *db, struct error *err)
{
    struct rollup_rows rows = { .series = r->series };

    return pg_exec_rows(db,
                        &(struct pg_rows){ .one = &find_series,
                                           .all = &lock_series,
                                           .n = r->n_series,
                                           .n_columns = 3,
                                           .fill = fill_series,
                                           .on_row = rollup_read_series,
                                           .ctx = &rows,
                                           .at = &rows.at },
                        &r->arena, err);
}

/* Inserts the series without a number. Another process may insert the same: the conflict is
 * ignored, and they are found afterwards. */
static int resolve_series(struct rollups *r, struct db *db, struct error *err)
{
    struct rollup_rows rows = { .series =
                                    ARENA_ARRAY(&r->arena, struct rollup_series *, r->n_series) };
    size_t n = 0;

    qsort((void *)r->series, r->n_series, sizeof(*r->series), by_owner);
    if (find_numbers(r, db, err) != 0)
        return -1;
    for (size_t i = 0; i < r->n_series; i++)
        if (r->series[i]->series_no == 0) {
            r->series[i]->series_no = db_number(db);
            rows.series[n++] = r->series[i];
        }
    if (n == 0)
        return 0;
    if (pg_exec_rows(db,
                     &(struct pg_rows){ .one = &insert_series,
                                        .all = &add_series,
                                        .n = n,
                                        .n_columns = 5,
                                        .fill = fill_series,
                                        .ctx = &rows },
                     &r->arena, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        rows.series[i]->series_no = 0;
    if (find_numbers(r, db, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (rows.series[i]->series_no == 0)
            return err_set(err, ERR_INTERNAL, "a KPI series could not be inserted");
    return 0;
}

static void fill_bucket(void *ctx, size_t i, struct db_value *ret)
{
    const struct rollup_rows *rows = ctx;
    const struct rollup_bucket *b = rows->buckets[i];

    ret[0] = db_int(b->series->tenant_id);
    ret[1] = db_int(b->series->series_no);
    ret[2] = db_int(b->level);
    ret[3] = db_int(b->start);
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

static void fill_state(void *ctx, size_t i, struct db_value *ret)
{
    struct rollup_rows *rows = ctx;
    const struct str state = kpi_state_write(&rows->buckets[i]->stored, rows->bytes);

    fill_bucket(ctx, i, ret);
    ret[4] = rows->in_hex ? db_text(hex_of(state, rows->hex)) : db_blob(state);
}

/* The key of an hour's values, or the number of a day's hours, and the time. */
static void fill_search(void *ctx, size_t i, struct db_value *ret)
{
    const struct rollup_rows *rows = ctx;
    const struct rollup_bucket *b = rows->buckets[i];

    *ret++ = db_int(b->series->tenant_id);
    if (b->level == ROLLUP_HOUR) {
        *ret++ = db_text(b->series->key.key);
        *ret++ = db_int(b->series->agent_id);
    } else {
        *ret++ = db_int(b->series->series_no);
    }
    *ret++ = db_int(b->start);
    *ret = db_int(rollup_next(b->level, b->start));
}

static bool rollup_read_state(void *ctx, const struct db_row *row)
{
    struct rollup_rows *rows = ctx;

    rows->bad |= !kpi_state_read(db_get_blob(row, 1), &bucket_at(rows, row, 0)->stored);
    return true;
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
    kpi_state_add(bucket_at(ctx, row, VALUE_AT_NEXT)->found, &value, &place);
    return true;
}

static bool rollup_add_hour(void *ctx, const struct db_row *row)
{
    struct rollup_rows *rows = ctx;
    struct kpi_state hour;

    if (kpi_state_read(db_get_blob(row, 0), &hour))
        kpi_state_merge(bucket_at(rows, row, 1)->found, &hour);
    else
        rows->bad = true;
    return true;
}

/* What is done to the buckets of a list. */
static const struct pg_rows load = { .one = &select_state,
                                     .all = &select_states,
                                     .n_columns = 4,
                                     .fill = fill_bucket,
                                     .on_row = rollup_read_state };
static const struct pg_rows save = {
    .one = &put_state, .all = &put_states, .n_columns = 5, .fill = fill_state
};
static const struct pg_rows drop = { .one = &delete_state,
                                     .all = &delete_states,
                                     .n_columns = 4,
                                     .fill = fill_bucket,
                                     .undistributed = true };
/* Searches for the maximum and the last value: of an hour by indexes of its values, of a day among
 * its hours. */
static const struct pg_rows search[ROLLUP_LEVELS] = {
    [ROLLUP_HOUR] = { .one = &select_candidates,
                      .all = &select_candidates,
                      .n_columns = 5,
                      .fill = fill_search,
                      .on_row = rollup_add_candidate },
    [ROLLUP_DAY] = { .one = &select_hours,
                     .all = &select_hours,
                     .n_columns = 4,
                     .fill = fill_search,
                     .on_row = rollup_add_hour },
};

static int exec_buckets(struct rollups *r, struct db *db, const struct pg_rows *what,
                        const struct rollup_list *list, struct error *err)
{
    struct rollup_rows rows = { .buckets = list->items,
                                .in_hex = strcmp(db_dialect(db), "postgres") == 0 };
    struct pg_rows all = *what;

    all.n = list->n;
    all.ctx = &rows;
    all.at = &rows.at;
    if (pg_exec_rows(db, &all, &r->arena, err) != 0)
        return -1;
    return rows.bad ? err_set(err, ERR_SCHEMA, "stored KPI total is malformed") : 0;
}

/* If values of the hour may have been deleted by retention, its maximum and last value cannot be
 * known: they stay as they are. The retention mark is read after the values: if a deleted value was
 * not seen, the mark set with its deletion is. */
static int apply_found(struct rollups *r, struct db *db, enum rollup_level level, struct error *err)
{
    struct retention_marks marks = { 0 };
    int64_t tenant_id = 0; /* of the marks */

    for (size_t i = 0; i < r->unknown.n; i++) {
        struct rollup_bucket *bucket = r->unknown.items[i];

        if (level == ROLLUP_HOUR && bucket->series->tenant_id != tenant_id) {
            tenant_id = bucket->series->tenant_id;
            if (retention_load_marks(db, tenant_id, &marks, err) != 0)
                return -1;
        }
        if (level != ROLLUP_HOUR || bucket->start >= marks.business_until)
            kpi_state_take_extremes(&bucket->stored, bucket->found);
    }
    return 0;
}

static int settle_level(struct rollups *r, struct db *db, enum rollup_level level,
                        struct error *err)
{
    const struct rollup_list *list = &r->levels[level];

    if (exec_buckets(r, db, &load, list, err) != 0)
        return -1;
    r->unknown.n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct rollup_bucket *bucket = list->items[i];

        kpi_state_merge(&bucket->stored, &bucket->added);
        if (bucket->removed != NULL && !kpi_state_remove(&bucket->stored, bucket->removed))
            list_add(&r->unknown, bucket); /* the maximum or the last value may be gone */
    }
    for (size_t i = 0; i < r->unknown.n; i++)
        r->unknown.items[i]->found = ARENA_NEW(&r->arena, struct kpi_state);
    if (exec_buckets(r, db, &search[level], &r->unknown, err) != 0 ||
        apply_found(r, db, level, err) != 0)
        return -1;
    r->kept.n = r->empty.n = 0;
    for (size_t i = 0; i < list->n; i++)
        list_add(list->items[i]->stored.n > 0 ? &r->kept : &r->empty, list->items[i]);
    if (exec_buckets(r, db, &save, &r->kept, err) != 0)
        return -1;
    return exec_buckets(r, db, &drop, &r->empty, err);
}

/* Hours first: a day's maximum and last value are searched among them. */
int rollups_settle(struct rollups *r, struct db *db, struct error *err)
{
    if (r->n_series == 0)
        return 0;
    if (resolve_series(r, db, err) != 0 || settle_level(r, db, ROLLUP_HOUR, err) != 0 ||
        settle_level(r, db, ROLLUP_DAY, err) != 0)
        return -1;
    rollups_forget(r);
    return 0;
}
