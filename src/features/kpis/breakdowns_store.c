/* breakdowns_store.c - SQL that reads breakdowns. */
#include "features/kpis/breakdowns_store.h"

#include "features/kpis/report_sums.h"
#include "shape/json.h"
#include "shape/rows.h"

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

static void read_value(yyjson_val *value, struct named_value *ret)
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
                read_value(value, &room[j]);
        }
        on_cell(ctx, room, yyjson_get_num(yyjson_arr_get_last(cell)));
    }
    yyjson_doc_free(doc);
    return valid;
}
