/* prices_store.c - SQL of prices. */
#include "features/cost/prices_store.h"

#include "base/buf.h"
#include "db/db.h"
#include "shape/problems.h"
#include "shape/rows.h"
#include "shape/table.h"

#define COLUMNS                                                                                    \
    "price_id, model, provider, input, output, cache_read, cache_write, input_includes_cache,"     \
    " valid_from, aliases, updated_at"

/* clang-format off */
static const struct db_query select_number = {
    .sql = "SELECT number FROM change_numbers WHERE topic = 'prices'",
};
static const struct db_query add_to_number = {
    .sql = "UPDATE change_numbers SET number = number + 1 WHERE topic = 'prices'",
};
static const struct db_query select_all = { .sql = "SELECT " COLUMNS " FROM prices" };
static const struct db_query put = {
    .sql = "INSERT INTO prices (model, provider, input, output, cache_read, cache_write,"
           " input_includes_cache, valid_from, aliases, updated_at)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
           " ON CONFLICT (model, valid_from) DO UPDATE SET provider = excluded.provider,"
           " input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,"
           " cache_write = excluded.cache_write,"
           " input_includes_cache = excluded.input_includes_cache, aliases = excluded.aliases,"
           " updated_at = excluded.updated_at RETURNING price_id",
    .n_args = 10,
};
static const struct db_query delete_one = {
    .sql = "DELETE FROM prices WHERE price_id = $1 RETURNING " COLUMNS,
    .n_args = 1,
};

/* The JSON in the column of aliases. */
#define OWNER     struct price_create
#define MEMBER(m) m
static const struct field names_fields[] = { { LIST_STR(aliases), .flags = F_REQUIRED } };
static const struct shape names_shape = { SHAPE_OF("Names", struct price_create, names_fields) };
#undef MEMBER
#undef OWNER
/* clang-format on */

int store_prices_number(struct db *db, int64_t *ret, struct error *err)
{
    *ret = 0;
    return db_exec(db, &select_number, NULL, rows_read_int, ret, err);
}

/* Written only by this file: malformed text is treated as no aliases. */
static struct list read_aliases(struct arena *arena, struct str text)
{
    struct price_create names;
    struct str object;

    if (str_eq_c(text, "[]"))
        return (struct list){ 0 };
    object = arena_printf(arena, "{\"aliases\":%.*s}", STR_ARG(text));
    if (shape_read_json(&names_shape, object, arena, &names, problems_new(arena, "body")) != 0)
        return (struct list){ 0 };
    return names.aliases;
}

static bool add_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct price_row *p = rows_add(rows);

    p->price_id = db_get_int(row, 0);
    p->model = rows_text(rows->arena, row, 1);
    p->provider = rows_text(rows->arena, row, 2);
    p->amounts = (struct price_amounts){ .input = db_get_int(row, 3),
                                         .output = db_get_int(row, 4),
                                         .cache_read = rows_opt_int(row, 5),
                                         .cache_write = rows_opt_int(row, 6) };
    p->input_includes_cache = db_get_int(row, 7) != 0;
    p->valid_from = db_get_int(row, 8);
    p->aliases = read_aliases(rows->arena, db_get_text(row, 9));
    p->updated_at = db_get_int(row, 10);
    return true;
}

int store_prices(struct db *db, struct arena *arena, struct price_row **ret, size_t *ret_n,
                 struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct price_row) };

    if (db_exec(db, &select_all, NULL, add_row, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

static void write_aliases(const struct list *aliases, struct buf *out)
{
    const struct str *names = aliases->items;

    buf_add_char(out, '[');
    for (size_t i = 0; i < aliases->n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_json(out, names[i]);
    }
    buf_add_char(out, ']');
}

int store_price_put(struct db *db, struct price_row *row, struct error *err)
{
    struct buf aliases;
    int r;

    buf_init(&aliases, SIZE_MAX); /* bounded by the size of the request body */
    write_aliases(&row->aliases, &aliases);
    r = db_exec(db, &put,
                (const struct db_value[]){
                    db_text(row->model), db_text(row->provider), db_int(row->amounts.input),
                    db_int(row->amounts.output), rows_opt_int_value(row->amounts.cache_read),
                    rows_opt_int_value(row->amounts.cache_write), db_int(row->input_includes_cache),
                    db_int(row->valid_from), db_text(buf_str(&aliases)), db_int(row->updated_at) },
                rows_read_int, &row->price_id, err);
    buf_done(&aliases);
    return r != 0 ? -1 : db_exec(db, &add_to_number, NULL, NULL, NULL, err);
}

int store_price_delete(struct db *db, int64_t price_id, struct arena *arena, struct price_row *ret,
                       struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct price_row) };

    if (db_exec(db, &delete_one, (const struct db_value[]){ db_int(price_id) }, add_row, &rows,
                err) != 0)
        return -1;
    if (rows.n == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no price %lld", (long long)price_id);
    *ret = *(struct price_row *)rows.items;
    return db_exec(db, &add_to_number, NULL, NULL, NULL, err);
}
