/* stored_bytes.c - collects the bytes of a transaction by tenant, and stores the sums. */
#include "features/access/stored_bytes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "db/db.h"
#include "db/lists.h"
#include "features/access/registry.h"

const char stored_bytes_part[] = "stored_bytes";

enum { PARTS = 64, CORRECTION = PARTS }; /* the part of the correction is the last one */

/* clang-format off */
static const struct db_query add_bytes = {
    .keeps_plan = true,
    .sql = "INSERT INTO tenant_bytes (tenant_id, part, bytes) VALUES ($1, $2, $3)"
           " ON CONFLICT (tenant_id, part) DO UPDATE SET bytes = tenant_bytes.bytes + excluded.bytes",
};
/* The same for several tenants. */
static const struct db_query add_all_bytes = {
    .keeps_plan = true,
    .postgres = "INSERT INTO tenant_bytes (tenant_id, part, bytes)"
                " SELECT tenant_id, part, bytes FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])"
                " AS x(tenant_id, part, bytes) ORDER BY tenant_id ON CONFLICT (tenant_id, part)"
                " DO UPDATE SET bytes = tenant_bytes.bytes + excluded.bytes",
    .citus = "SELECT 0", /* asked one by one */
};
DB_QUERY(select_sums,
    "SELECT t.tenant_id, COALESCE(SUM(b.bytes), 0) FROM tenants t"
    " LEFT JOIN tenant_bytes b ON b.tenant_id = t.tenant_id"
    " WHERE t.deleted_at IS NULL AND (t.max_bytes > 0 OR CAST($1 AS BIGINT) = 1)"
    " GROUP BY t.tenant_id");
DB_INT_FN(tenant_load_bytes, (int64_t tenant_id), (db_int(tenant_id)),
    "SELECT COALESCE(SUM(bytes), 0) FROM tenant_bytes WHERE tenant_id = $1");
DB_INT_FN(tenant_counted, (int64_t tenant_id), (db_int(tenant_id), db_int(CORRECTION)),
    "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM tenant_bytes"
    " WHERE tenant_id = $1 AND part <> $2");
DB_RUN_FN(tenant_correct, (int64_t tenant_id, int64_t correction),
    (db_int(tenant_id), db_int(CORRECTION), db_int(correction)),
    "INSERT INTO tenant_bytes (tenant_id, part, bytes) VALUES ($1, $2, $3)"
    " ON CONFLICT (tenant_id, part) DO UPDATE SET bytes = excluded.bytes");
/* clang-format on */

struct change {
    int64_t tenant_id, bytes;
};

struct stored_bytes {
    struct registry *registry;
    int64_t part; /* the rows that this writer adds to; in SQLite there is one writer */
    struct change *changes;
    size_t n, capacity;
};

struct stored_bytes *stored_bytes_new(struct registry *registry)
{
    struct stored_bytes *s = NEW(struct stored_bytes);

    s->registry = registry;
    s->part = -1;
    return s;
}

void stored_bytes_free(struct stored_bytes *s)
{
    if (s == NULL)
        return;
    free(s->changes);
    free(s);
}

/* The last one, when it is the tenant's; merge() adds up the others. */
static struct change *change_of(struct stored_bytes *s, int64_t tenant_id)
{
    if (s->n > 0 && s->changes[s->n - 1].tenant_id == tenant_id)
        return &s->changes[s->n - 1];
    s->changes = mem_grow(s->changes, s->n, &s->capacity, sizeof(*s->changes));
    s->changes[s->n] = (struct change){ .tenant_id = tenant_id };
    return &s->changes[s->n++];
}

void stored_bytes_add(struct stored_bytes *s, int64_t tenant_id, int64_t bytes)
{
    assert(tenant_id > 0);
    if (s != NULL && bytes != 0)
        change_of(s, tenant_id)->bytes += bytes;
}

static int by_tenant(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return x->tenant_id < y->tenant_id ? -1 : x->tenant_id > y->tenant_id;
}

/* One change for each tenant, in the order of their ids. */
static void merge(struct stored_bytes *s)
{
    size_t n = 0;

    if (s->n < 2)
        return;
    qsort(s->changes, s->n, sizeof(*s->changes), by_tenant);
    for (size_t i = 1; i < s->n; i++) {
        if (s->changes[i].tenant_id == s->changes[n].tenant_id)
            s->changes[n].bytes += s->changes[i].bytes;
        else
            s->changes[++n] = s->changes[i];
    }
    s->n = n + 1;
}

/* Writers of PostgreSQL pick a part by chance; two with the same one wait for each other, in the
 * same order, and do not deadlock. */
static int64_t part_of(struct stored_bytes *s, const struct db *db)
{
    if (s->part < 0)
        s->part =
            str_eq_c(str_of(db_dialect(db)), "sqlite") ? 0 : (int64_t)digest_random_below(PARTS);
    return s->part;
}

static int settle_all(struct stored_bytes *s, struct db *db, struct error *err)
{
    struct db_value args[3];
    ARENA_SCOPED(arena);
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), &arena);

    for (size_t i = 0; i < s->n; i++) {
        const struct db_value row[] = { db_int(s->changes[i].tenant_id), db_int(part_of(s, db)),
                                        db_int(s->changes[i].bytes) };

        if (s->changes[i].bytes != 0)
            pg_arrays_add(&arrays, row);
    }
    pg_arrays_args(&arrays, args);
    return db_run_later(db, &add_all_bytes, DB_ARGS_OF(args), err);
}

int stored_bytes_settle(struct stored_bytes *s, struct db *db, struct error *err)
{
    merge(s);
    if (s->n > 1 && pg_arrays_suit(db))
        return settle_all(s, db, err);
    for (size_t i = 0; i < s->n; i++) {
        const struct db_args args = DB_ARGS(db_int(s->changes[i].tenant_id), db_int(part_of(s, db)),
                                            db_int(s->changes[i].bytes));

        if (s->changes[i].bytes != 0 && db_run_later(db, &add_bytes, args, err) != 0)
            return -1;
    }
    return 0;
}

void stored_bytes_committed(struct stored_bytes *s)
{
    for (size_t i = 0; i < s->n && s->registry != NULL; i++)
        registry_add_stored(s->registry, s->changes[i].tenant_id, s->changes[i].bytes);
    s->n = 0;
}

void stored_bytes_forget(struct stored_bytes *s)
{
    s->n = 0;
}

static bool tell_registry(void *ctx, const struct db_row *row)
{
    registry_set_stored(ctx, db_get_int(row, 0), db_get_int(row, 1));
    return true;
}

int stored_bytes_refresh(struct registry *registry, struct db *db, bool all, struct error *err)
{
    return db_exec(db, &select_sums, DB_ARGS(db_int(all)), tell_registry, registry, err);
}
