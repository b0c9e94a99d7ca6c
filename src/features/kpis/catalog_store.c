/* catalog_store.c - SQL of declared KPIs. */
#include "features/kpis/catalog_store.h"

#include "db/db.h"
#include "features/kpis/report_shapes.h"
#include "features/kpis/report_store.h"

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

int store_kpis_undeclared(struct db *db, const struct report_key *place,
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
