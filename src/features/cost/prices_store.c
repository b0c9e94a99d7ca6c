/* prices_store.c - SQL of prices. */
#include "features/cost/prices_store.h"

#include "shape/rows.h"
#include "shape/table.h"

#define COLUMNS                                                                                    \
    "price_id, model, provider, input, output, cache_read, cache_write, input_includes_cache,"     \
    " valid_from, aliases, updated_at, built_in_as_of"

/* clang-format off */
ROW_TABLE(price_row,
    INT(price_id), STR(model), STR(provider), BOOL(input_includes_cache),
    TIME(valid_from), LIST_STR(aliases), TIME(updated_at), TIME(built_in_as_of),
    FIELD_AT("input", amounts.input, int64_t, T_INT),
    FIELD_AT("output", amounts.output, int64_t, T_INT),
    FIELD_AT("cache_read", amounts.cache_read, struct opt_int, T_OPT_INT),
    FIELD_AT("cache_write", amounts.cache_write, struct opt_int, T_OPT_INT));

DB_QUERY(select_number, "SELECT number FROM change_numbers WHERE topic = 'prices'");
DB_QUERY(add_to_number, "UPDATE change_numbers SET number = number + 1 WHERE topic = 'prices'");
/* The process that changes the row adds the prices; in PostgreSQL others wait for it. */
DB_QUERY(claim_built_in,
    "UPDATE change_numbers SET number = 1 WHERE topic = 'built_in_prices' AND number = 0");
static const struct db_query select_all = { .row = &price_row, .sql = "SELECT " COLUMNS " FROM prices" };
DB_QUERY(put,
    "INSERT INTO prices (model, provider, input, output, cache_read, cache_write,"
    " input_includes_cache, valid_from, aliases, updated_at, built_in_as_of)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    " ON CONFLICT (model, valid_from) DO UPDATE SET provider = excluded.provider,"
    " input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,"
    " cache_write = excluded.cache_write,"
    " input_includes_cache = excluded.input_includes_cache, aliases = excluded.aliases,"
    " updated_at = excluded.updated_at, built_in_as_of = excluded.built_in_as_of"
    " RETURNING price_id");
DB_ROWS_QUERY(delete_one, price_row, "DELETE FROM prices WHERE price_id = $1 RETURNING " COLUMNS);
/* clang-format on */

int prices_number(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec_int(db, &select_number, DB_NO_ARGS, ret, err);
}

int prices_list(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_all, DB_NO_ARGS, arena, ret, err);
}

int prices_claim_built_in(struct db *db, bool *ret, struct error *err)
{
    return db_run_changed(db, &claim_built_in, DB_NO_ARGS, ret, err);
}

int prices_put(struct db *db, struct price_row *row, struct error *err)
{
    ARENA_SCOPED(arena);
    int r;

    r = db_exec(db, &put,
                DB_ARGS(db_text(row->model), db_text(row->provider), db_int(row->amounts.input),
                        db_int(row->amounts.output), rows_opt_int_value(row->amounts.cache_read),
                        rows_opt_int_value(row->amounts.cache_write),
                        db_int(row->input_includes_cache), db_int(row->valid_from),
                        db_text(rows_json_of(&price_row, "aliases", row, &arena)),
                        db_int(row->updated_at), rows_time_value(row->built_in_as_of)),
                db_read_int, &row->price_id, err);
    return r != 0 ? -1 : db_run(db, &add_to_number, DB_NO_ARGS, err);
}

int prices_delete(struct db *db, int64_t price_id, struct arena *arena, struct price_row *ret,
                  struct error *err)
{
    if (rows_one(db, &delete_one, DB_ARGS(db_int(price_id)), arena, ret, err) != 0)
        return -1;
    if (ret->price_id == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no price %lld", (long long)price_id);
    return db_run(db, &add_to_number, DB_NO_ARGS, err);
}
