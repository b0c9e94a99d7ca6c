/* built_in_prices.c - adds the built-in price list to a new database.
 *
 * A database that had tenants, users or prices when it learned of the list (migration 0035) is
 * never changed: costs that people have seen stay as they were.
 */
#include "features/cost/prices.h"

#include <assert.h>

#include "base/clock.h"
#include "db/db.h"
#include "features/cost/price_file.h"
#include "features/cost/prices_store.h"
#include "shape/problems.h"

/* share/prices.json, made into C by cmake/embed_prices.cmake. */
extern const char built_in_prices_text[];

static int add_all(struct db *db, struct arena *arena, struct error *err)
{
    struct price_import file = { .format = PRICE_MUSTER,
                                 .valid_from = TIME_NULL,
                                 .prices = str_of(built_in_prices_text) };
    struct problems *problems = problems_new(arena, "body");
    const struct price_create *entries;
    int64_t as_of = price_file_as_of(file.prices, arena), now = clock_wall_us();

    price_file_read(&file, arena, problems);
    assert(problems_count(problems) == 0 && file.entries.n > 0 && as_of != TIME_NULL);
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

        if (store_price_put(db, &row, err) != 0)
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
    if (store_prices_claim_built_in(db, &claimed, err) == 0 &&
        (!claimed || add_all(db, &arena, err) == 0))
        r = db_commit(db, err);
    if (r != 0)
        db_rollback(db);
    return r;
}
