/* rate_store.c - SQL of shared rate windows. */
#include "features/access/rates/rate_store.h"

#include <string.h>

#include "base/arena.h"
#include "db/db.h"
#include "db/migrate.h"
#include "db/postgres/array.h"

/* clang-format off */
DB_QUERY(select_recent,
    "SELECT name, node, counts FROM rate_windows WHERE saved_at > $1 ORDER BY name, node");
/* A window that was idle everywhere has no row to lock: its name is locked first, so that each
 * process sees what the one before it let through. In one order, by what is locked. An advisory lock
 * is one server's: with Citus that of the server that has the windows, whichever a node uses. */
static const struct db_query lock_names = {
    .postgres = "SELECT pg_advisory_xact_lock(721198026, h) FROM (SELECT DISTINCT hashtext(n) AS h"
                " FROM unnest($1::text[]) AS x(n) ORDER BY h) AS y",
    .citus = "SELECT pg_advisory_xact_lock(721198026, h) FROM (SELECT DISTINCT hashtext(n) AS h"
             " FROM unnest($1::text[]) AS x(n) ORDER BY h) AS y,"
             " (SELECT COUNT(*) FROM rate_windows WHERE name = '') AS here",
};
/* Own rows too: all of a window's rows are locked, in one order, before one of them changes. */
static const struct db_query lock_windows = {
    .postgres = "SELECT name, node, counts FROM rate_windows WHERE name = ANY ($1::text[])"
                " AND saved_at > $2 ORDER BY name, node FOR UPDATE",
};
#define SAVE "INSERT INTO rate_windows (name, node, counts, saved_at) "
#define SAVED " ON CONFLICT (name, node) DO UPDATE SET counts = excluded.counts," \
              " saved_at = excluded.saved_at"
static const struct db_query save_window = {
    .sqlite = SAVE "VALUES ($1, $2, $3, $4)" SAVED,
};
static const struct db_query save_windows = {
    .postgres = SAVE "SELECT n, o, c, CAST($4 AS BIGINT) FROM"
                " unnest($1::text[], $2::text[], $3::text[]) AS x(n, o, c) ORDER BY n" SAVED,
};
DB_QUERY(prune_windows, "DELETE FROM rate_windows WHERE saved_at < $1");
DB_QUERY(prune_nodes, "DELETE FROM nodes WHERE seen_at < $1");
DB_QUERY(save_node,
    "INSERT INTO nodes (node, seen_at, knows) VALUES ($1, $2, $3)"
    " ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, knows = excluded.knows");
DB_QUERY(count_nodes, "SELECT COUNT(*) FROM nodes WHERE seen_at > $1 AND seen_at < $2");
DB_RUN_FN(store_node_gone, (struct str node), (db_text(node)),
    "DELETE FROM nodes WHERE node = $1");
/* clang-format on */

static bool read_row(void *ctx, const struct db_row *row)
{
    const struct rate_reader *reading = ctx;
    const struct rate_row read = { .name = db_get_text(row, 0),
                                   .node = db_get_text(row, 1),
                                   .counts = db_get_text(row, 2) };

    reading->fn(reading->ctx, &read);
    return true;
}

int store_rates_recent(struct db *db, int64_t since, const struct rate_reader *reader,
                       struct error *err)
{
    struct rate_reader reading = *reader;

    return db_exec(db, &select_recent, DB_ARGS(db_int(since)), read_row, &reading, err);
}

int store_rates_lock(struct db *db, const struct rate_row *of, size_t n, int64_t since,
                     const struct rate_reader *reader, struct error *err)
{
    struct rate_reader reading = *reader;
    struct db_value array;
    ARENA_SCOPED(arena);
    PG_ARRAYS_SCOPED(names, 1, &arena);

    for (size_t i = 0; i < n; i++) {
        const struct db_value name = db_text(of[i].name);

        pg_arrays_add(&names, &name);
    }
    pg_arrays_args(&names, &array);
    if (db_run(db, &lock_names, DB_ARGS(array), err) != 0)
        return -1;
    return db_exec(db, &lock_windows, DB_ARGS(array, db_int(since)), read_row, &reading, err);
}

static int save_many(struct db *db, const struct rate_row *rows, size_t n, int64_t now,
                     struct error *err)
{
    enum { COLUMNS = 3 };
    struct db_value args[COLUMNS + 1];
    ARENA_SCOPED(arena);
    PG_ARRAYS_SCOPED(arrays, COLUMNS, &arena);

    for (size_t i = 0; i < n; i++) {
        const struct db_value row[COLUMNS] = { db_text(rows[i].name), db_text(rows[i].node),
                                               db_text(rows[i].counts) };

        pg_arrays_add(&arrays, row);
    }
    pg_arrays_args(&arrays, args);
    args[COLUMNS] = db_int(now);
    return db_run(db, &save_windows, DB_ARGS_OF(args), err);
}

int store_rates_save(struct db *db, const struct rate_row *rows, size_t n, int64_t now,
                     struct error *err)
{
    if (strcmp(db_dialect(db), "sqlite") != 0)
        return save_many(db, rows, n, now, err);
    for (size_t i = 0; i < n; i++)
        if (db_run(db, &save_window,
                   DB_ARGS(db_text(rows[i].name), db_text(rows[i].node), db_text(rows[i].counts),
                           db_int(now)),
                   err) != 0)
            return -1;
    return 0;
}

int store_rates_prune(struct db *db, int64_t before, struct error *err)
{
    if (db_run(db, &prune_windows, DB_ARGS(db_int(before)), err) != 0)
        return -1;
    return db_run(db, &prune_nodes, DB_ARGS(db_int(before)), err);
}

int store_node_seen(struct db *db, struct str node, int64_t now, int64_t since, int64_t *ret,
                    struct error *err)
{
    const int64_t until = now + (now - since); /* later: of before the clock was set back */

    *ret = 0;
    if (db_run(db, &save_node, DB_ARGS(db_text(node), db_int(now), db_int((int64_t)n_migrations)),
               err) != 0)
        return -1;
    return db_exec(db, &count_nodes, DB_ARGS(db_int(since), db_int(until)), db_read_int, ret, err);
}
