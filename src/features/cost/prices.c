/* prices.c - the book of prices, sorted by model and valid_from; the one that readers share. And
 * their SQL. */
#include "features/cost/prices.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "shape/problems.h"
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

struct price_book {
    atomic_uint holders;
    int64_t number;
    int64_t session; /* db_session() of the number */
    struct arena arena;
    struct list prices; /* of struct price_row, by model and start */
    struct map models;  /* name -> struct price_history */
    struct map aliases; /* alias -> the same */
};

static int by_model(const void *a, const void *b)
{
    const struct price_row *x = a, *y = b;
    int order = str_cmp(x->model, y->model);

    if (order != 0)
        return order;
    return x->valid_from < y->valid_from ? -1 : x->valid_from > y->valid_from;
}

/* Should two models have the same alias, the first wins: prices_set() and prices_import() refuse
 * it, except beside a built-in price, whose aliases are therefore added last. */
static void add_aliases(struct price_book *book, const struct price_row *row,
                        struct price_history *history)
{
    const struct str *names = row->aliases.items;

    for (size_t i = 0; i < row->aliases.n; i++)
        if (map_get(&book->aliases, names[i]) == NULL)
            (void)map_put(&book->aliases, names[i], history);
}

static void index_rows(struct price_book *book)
{
    struct price_history *history = NULL;
    struct price_row *rows = book->prices.items;
    const size_t n = book->prices.n;

    if (n > 0)
        qsort(rows, n, sizeof(*rows), by_model);
    for (size_t i = 0; i < n; i++) {
        if (history == NULL || !str_eq(history->rows->model, rows[i].model)) {
            history = ARENA_NEW(&book->arena, struct price_history);
            history->rows = &rows[i];
            (void)map_put(&book->models, rows[i].model, history);
        }
        history->n++;
    }
    for (int built_in = 0; built_in <= 1; built_in++)
        for (size_t i = 0; i < n; i++)
            if ((rows[i].built_in_as_of != TIME_NULL) == (built_in == 1))
                add_aliases(book, &rows[i], map_get(&book->models, rows[i].model));
}

int price_book_load(struct db *db, struct price_book **ret, struct error *err)
{
    struct price_book *book = NEW(struct price_book);

    atomic_init(&book->holders, 1);
    arena_init(&book->arena);
    map_init(&book->models);
    map_init(&book->aliases);
    if (prices_number(db, &book->number, err) != 0)
        goto fail;
    book->session = db_session(db);
    if (prices_list(db, &book->arena, &book->prices, err) != 0)
        goto fail;
    index_rows(book);
    *ret = book;
    return 0;
fail:
    price_book_release(book);
    return -1;
}

void price_book_release(struct price_book *book)
{
    if (book == NULL || atomic_fetch_sub(&book->holders, 1) != 1)
        return;
    map_done(&book->models);
    map_done(&book->aliases);
    arena_done(&book->arena);
    free(book);
}

static bool is_current(const struct price_book *book, const struct db *db, int64_t number)
{
    return book->number == number && book->session == db_session(db);
}

struct price_history price_book_all(const struct price_book *book)
{
    return (struct price_history){ book->prices.items, book->prices.n };
}

static struct price_history in_map(const struct map *map, struct str name)
{
    const struct price_history *found = map_get(map, name);

    return found == NULL ? (struct price_history){ 0 } : *found;
}

struct price_history price_book_exact(const struct price_book *book, struct str model)
{
    return in_map(&book->models, model);
}

struct price_history price_book_alias(const struct price_book *book, struct str alias)
{
    return in_map(&book->aliases, alias);
}

/* The name itself, then without each provider prefix in turn. */
static struct price_history find_from(const struct price_book *book, struct str name)
{
    struct price_history found = { 0 };

    while (found.n == 0 && name.len > 0) {
        found = price_book_exact(book, name);
        if (found.n == 0)
            found = price_book_alias(book, name);
        (void)str_split(&name, '/');
    }
    return found;
}

static int digits(const char *at, int n)
{
    int value = 0;

    for (int i = 0; i < n; i++) {
        if (at[i] < '0' || at[i] > '9')
            return -1;
        value = value * 10 + at[i] - '0';
    }
    return value;
}

static bool is_date(int year, int month, int day)
{
    return year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* Without "-2024-08-06" or "-20240806" at its end; STR_NULL when it does not end in a date. */
static struct str without_date(struct str name)
{
    enum { PLAIN = sizeof("-20240806") - 1, HYPHENS = sizeof("-2024-08-06") - 1 };
    const char *end = name.data + name.len;

    if (name.len > PLAIN && (end[-PLAIN] == '-' || end[-PLAIN] == '@') &&
        is_date(digits(end - 8, 4), digits(end - 4, 2), digits(end - 2, 2)))
        return str_from(name.data, name.len - PLAIN);
    if (name.len > HYPHENS && (end[-HYPHENS] == '-' || end[-HYPHENS] == '@') && end[-6] == '-' &&
        end[-3] == '-' && is_date(digits(end - 10, 4), digits(end - 5, 2), digits(end - 2, 2)))
        return str_from(name.data, name.len - HYPHENS);
    return STR_NULL;
}

/* Without "[1m]" at its end, by which programs ask for a variant of the model. */
static struct str without_variant(struct str name)
{
    size_t n = name.len;

    if (n == 0 || name.data[n - 1] != ']')
        return name;
    while (n > 0 && name.data[n - 1] != '[')
        n--;
    return n > 1 ? str_from(name.data, n - 1) : name;
}

struct price_history price_book_find(const struct price_book *book, struct str name)
{
    struct price_history found = find_from(book, name);

    if (found.n > 0)
        return found;
    name = without_variant(name);
    found = find_from(book, name);
    return found.n == 0 ? find_from(book, without_date(name)) : found;
}

bool price_is_built_in(const struct price_history *history)
{
    return history->n == 1 && history->rows->built_in_as_of != TIME_NULL;
}

const struct price_row *price_in_force(const struct price_history *history, int64_t at)
{
    size_t low = 0, high = history->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (history->rows[middle].valid_from <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &history->rows[low - 1];
}

struct prices {
    struct lock lock;
    struct price_book *book GUARDED_BY(lock); /* NULL at first */
};

struct prices *prices_new(void)
{
    struct prices *p = NEW(struct prices);

    lock_init(&p->lock);
    return p;
}

void prices_free(struct prices *p)
{
    if (p == NULL)
        return;
    lock_unshared(&p->lock);
    price_book_release(p->book);
    lock_done(&p->lock);
    free(p);
}

/* A reference to the cached book if it holds, otherwise NULL. */
static struct price_book *hold_current(struct prices *p, const struct db *db, int64_t number)
{
    struct price_book *book = NULL;

    lock_acquire(&p->lock);
    if (p->book != NULL && is_current(p->book, db, number)) {
        book = p->book;
        atomic_fetch_add(&book->holders, 1);
    }
    lock_release(&p->lock);
    return book;
}

static void set_current(struct prices *p, struct price_book *book)
{
    struct price_book *old;

    atomic_fetch_add(&book->holders, 1);
    lock_acquire(&p->lock);
    old = p->book;
    p->book = book;
    lock_release(&p->lock);
    price_book_release(old);
}

int prices_book(struct prices *p, struct db *db, struct price_book **ret, struct error *err)
{
    int64_t number;

    if (prices_number(db, &number, err) != 0)
        return -1;
    *ret = hold_current(p, db, number);
    if (*ret != NULL)
        return 0;
    if (price_book_load(db, ret, err) != 0)
        return -1;
    set_current(p, *ret);
    return 0;
}

/* share/prices.json, made into C by cmake/embed_prices.cmake. */
extern const char built_in_prices_text[];

static int add_built_in(struct db *db, struct arena *arena, struct error *err)
{
    struct price_import file = { .format = PRICE_MUSTER,
                                 .valid_from = TIME_NULL,
                                 .prices = str_of(built_in_prices_text) };
    struct problems *problems = problems_new(arena, "body");
    const struct price_create *entries;
    int64_t as_of = price_file_as_of(file.prices, arena), now = clock_wall_us();

    price_file_read(&file, arena, problems);
    assert(problems->n == 0 && file.entries.n > 0 && as_of != TIME_NULL);
    entries = file.entries.items;
    for (size_t i = 0; i < file.entries.n; i++) {
        struct price_row row = { .model = entries[i].model,
                                 .provider = entries[i].provider,
                                 .amounts = entries[i].amounts,
                                 .input_includes_cache = entries[i].input_includes_cache,
                                 .valid_from = TIME_NULL,
                                 .aliases = entries[i].aliases,
                                 .updated_at = now,
                                 .built_in_as_of = as_of };

        if (prices_put(db, &row, err) != 0)
            return -1;
    }
    return 0;
}

int built_in_prices_add(struct db *db, struct error *err)
{
    bool claimed = false;
    ARENA_SCOPED(arena);
    int r = -1;

    if (db_begin(db, err) != 0)
        return -1;
    if (prices_claim_built_in(db, &claimed, err) == 0 &&
        (!claimed || add_built_in(db, &arena, err) == 0))
        r = db_commit(db, err);
    if (r != 0)
        db_rollback(db);
    return r;
}
