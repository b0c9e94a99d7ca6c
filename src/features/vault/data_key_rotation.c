/* data_key_rotation.c - replaces the tenants' data keys, a bounded step per transaction. */
#include <assert.h>

#include "base/clock.h"
#include "db/db.h"
#include "features/vault/data_keys.h"
#include "features/vault/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

enum {
    ALL_ADDED = -1,    /* `after`: every tenant has its new key */
    TENANTS_MAX = 100, /* in one step */
    ROWS_MAX = 100,    /* sealed again in one step, of at most 64 KiB each */
    RETIRED_S = 5,     /* before a retired key is destroyed: longer than sealed bytes are in use */
};

struct sealed_text {
    struct str name, sealed;
    int64_t version;
};

/* clang-format off */
SHAPE_TABLE(, sealed_row, struct sealed_text, "sealed_row", (),
    STR(name), STR(sealed), INT(version));
/* clang-format on */

void vault_add_sealed_table(struct vault *v, const struct sealed_table *table)
{
    assert(v->n_sealed < SEALED_TABLES_MAX);
    v->sealed[v->n_sealed++] = table;
}

/* Which rows are looked for: of a table, sealed by another key than the tenant's newest. */
struct stale_search {
    const struct sealed_table *table;
    const struct data_key_row *newest;
    int64_t limit;
};

static int find_stale(struct db *db, const struct stale_search *search, struct arena *arena,
                      struct list *ret, struct error *err)
{
    uint8_t version[VAULT_VERSION_BYTES];

    vault_write_version(search->newest->version, version);
    return rows_list(db, &search->table->stale,
                     DB_ARGS(db_int(search->newest->tenant_id),
                             db_blob(str_from((const char *)version, sizeof(version))),
                             db_int(search->limit)),
                     arena, ret, err);
}

static int seal_again(struct vault *v, struct db *db, const struct sealed_table *table,
                      int64_t tenant_id, const struct sealed_text *row, struct error *err)
{
    const struct vault_label label = { table->kind, tenant_id, row->name, row->version };
    struct buf plain, sealed;
    int r;

    buf_init(&plain, row->sealed.len);
    buf_init(&sealed, row->sealed.len);
    r = vault_open(v, db, &label, row->sealed, &plain, err);
    if (r == 0)
        r = vault_seal(v, db, &label, buf_str(&plain), &sealed, err);
    if (r == 0)
        r = db_run(db, &table->replace,
                   DB_ARGS(db_int(tenant_id), db_text(row->name), db_blob(buf_str(&sealed)),
                           db_blob(row->sealed)),
                   err);
    vault_wipe(&plain);
    buf_done(&sealed);
    return r;
}

/* Seals up to `limit` rows of one tenant and counts them; fewer than `limit`: none is left. */
static int seal_tenant_again(struct vault *v, struct db *db, const struct data_key_row *newest,
                             int64_t limit, int64_t *ret_n, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list rows;
    int r = 0;

    *ret_n = 0;
    for (size_t t = 0; r == 0 && t < v->n_sealed && *ret_n < limit; t++) {
        const struct stale_search search = { v->sealed[t], newest, limit - *ret_n };

        r = find_stale(db, &search, &arena, &rows, err);
        for (size_t i = 0; r == 0 && i < rows.n; i++) {
            r = seal_again(v, db, v->sealed[t], newest->tenant_id,
                           &((const struct sealed_text *)rows.items)[i], err);
            ++*ret_n;
        }
        arena_reset(&arena);
    }
    return r;
}

static int add_keys(struct vault *v, struct db *db, int64_t after, struct data_keys_rotated *ret,
                    struct error *err)
{
    const struct data_key_row *tenants;
    ARENA_SCOPED(arena);
    struct list found;
    int r;

    r = data_keys_after(db, after, TENANTS_MAX, &arena, &found, err);
    tenants = found.items;
    for (size_t i = 0; r == 0 && i < found.n; i++)
        r = vault_add_key(v, db, &tenants[i], err);
    if (r == 0) {
        ret->created = (int64_t)found.n;
        ret->next.value = found.n < TENANTS_MAX ? ALL_ADDED : tenants[found.n - 1].tenant_id;
    }
    return r;
}

/* An older key without anything left to open is retired. */
static int seal_all_again(struct vault *v, struct db *db, struct data_keys_rotated *ret,
                          struct error *err)
{
    const struct data_key_row *tenants;
    ARENA_SCOPED(arena);
    struct list found;
    int64_t n;
    int r;

    r = data_keys_superseded(db, TENANTS_MAX, &arena, &found, err);
    tenants = found.items;
    for (size_t i = 0; r == 0 && i < found.n && ret->re_encrypted < ROWS_MAX; i++) {
        int64_t limit = ROWS_MAX - ret->re_encrypted;

        r = seal_tenant_again(v, db, &tenants[i], limit, &n, err);
        if (r == 0 && n < limit)
            r = data_key_retire(db, &tenants[i], clock_wall_us(), err);
        ret->re_encrypted += n;
    }
    ret->next.has = found.n > 0;
    return r;
}

/* Something may have been sealed with an older key after it was retired, by a transaction that
 * began before: then it is in use again. */
static int destroy_older(struct vault *v, struct db *db, const struct data_key_row *newest,
                         struct data_keys_rotated *ret, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list stale = { 0 };
    int64_t n = 0;
    int r;

    r = data_key_lock_older(db, newest, err);
    for (size_t t = 0; r == 0 && stale.n == 0 && t < v->n_sealed; t++) {
        const struct stale_search any = { v->sealed[t], newest, 1 };

        r = find_stale(db, &any, &arena, &stale, err);
    }
    if (r == 0)
        r = stale.n > 0 ? data_key_retire(db, newest, TIME_NULL, err)
                        : data_key_destroy(db, newest, &n, err);
    ret->destroyed += n;
    return r;
}

static int destroy_retired(struct vault *v, struct db *db, struct data_keys_rotated *ret,
                           struct error *err)
{
    const int64_t now = clock_wall_us();
    const struct data_keys_span span = { now - (int64_t)RETIRED_S * USEC_PER_SEC, now,
                                         TENANTS_MAX };
    const struct data_key_row *tenants;
    ARENA_SCOPED(arena);
    struct list found;
    bool more = false;
    int r;

    r = data_keys_retired(db, &span, &arena, &found, err);
    tenants = found.items;
    for (size_t i = 0; r == 0 && i < found.n; i++)
        r = destroy_older(v, db, &tenants[i], ret, err);
    if (r == 0)
        r = data_keys_any_retired(db, &more, err);
    ret->next.has = found.n > 0 || more;
    ret->wait_s = found.n == 0 && more ? RETIRED_S : 0;
    return r;
}

int vault_rotate_data_keys(struct vault *v, struct db *db, int64_t after,
                           struct data_keys_rotated *ret, struct error *err)
{
    *ret = (struct data_keys_rotated){ .next = { true, ALL_ADDED } };
    if (after != ALL_ADDED)
        return add_keys(v, db, after, ret, err);
    if (seal_all_again(v, db, ret, err) != 0)
        return -1;
    return ret->next.has ? 0 : destroy_retired(v, db, ret, err);
}
