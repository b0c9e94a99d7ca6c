/* keys.c - SQL of keys. */
#include "features/access/keys.h"

#include <assert.h>

#include "db/db.h"
#include "db/lists.h"
#include "features/access/shapes.h"
#include "shape/rows.h"
#include "shape/shape.h"
#include "shape/table.h"

#define KEY_COLUMNS                                                                                \
    "tenant_id, key_id, digest, agent_name, label, created_at, last_used_at, expires_at, "         \
    "revoked_at, predecessor, rotated_at, first_used_at, read_only"
#define SELECT_KEYS "SELECT " KEY_COLUMNS ", COALESCE(line, key_id) AS line FROM keys"

/* clang-format off */
ROW_TABLE(key_row,
    INT(tenant_id), STR(key_id), DIGEST(digest), STR(agent_name), STR(label),
    TIME(created_at), TIME(last_used_at), TIME(expires_at), TIME(revoked_at), STR(predecessor),
    TIME(rotated_at), TIME(first_used_at), BOOL(read_only), STR(line));

static const struct db_query insert_key = {
    .sql = "INSERT INTO keys (" KEY_COLUMNS ", line, changed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8,"
           " $9, $10, $11, $12, $13, $14, " CHANGE_NUMBER ")",
    .citus = "INSERT INTO keys (" KEY_COLUMNS ", line, changed) SELECT CAST($1 AS BIGINT), $2,"
             " CAST($3 AS BYTEA), $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT),"
             " CAST($8 AS BIGINT), CAST($9 AS BIGINT), $10, CAST($11 AS BIGINT),"
             " CAST($12 AS BIGINT), CAST($13 AS SMALLINT), $14, number FROM change_numbers"
             " WHERE topic = 'registry'",
};
#define REVOKE "UPDATE keys SET revoked_at = $3, changed = " CHANGE_NUMBER                         \
               " WHERE tenant_id = $1 AND revoked_at IS NULL AND "
DB_QUERY(revoke_key, REVOKE "key_id = $2 RETURNING key_id");
DB_QUERY(revoke_descent,
    "WITH RECURSIVE descent (key_id) AS (SELECT key_id FROM keys WHERE tenant_id = $1"
    " AND key_id = $2 UNION SELECT k.key_id FROM keys k JOIN descent d"
    " ON k.predecessor = d.key_id WHERE k.tenant_id = $1) "
    REVOKE "key_id IN (SELECT key_id FROM descent) RETURNING key_id");
ROWS_LIST_FN(live_keys, key_row, (int64_t since), (db_int(since)),
    SELECT_KEYS " WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at >= $1)"
    " AND (rotated_at IS NULL OR rotated_at >= $1)");
#define USED_KEYS SELECT_KEYS " WHERE revoked_at IS NULL AND rotated_at IS NULL"                    \
                  " AND (expires_at IS NULL OR expires_at >= $1)"
DB_ROWS_QUERY(select_portion, key_row,
    USED_KEYS " AND (tenant_id, key_id) > ($2, $3) ORDER BY tenant_id, key_id LIMIT $4");
/* Forces rows to be read in the order of the index keys_walked, up to the limit. On a table that
 * was never analysed PostgreSQL would expect few rows, and would read and sort all remaining ones
 * for every page. */
static const struct db_query do_not_sort = {
    .sqlite = "SELECT 1",
    .postgres = "SELECT set_config('enable_sort', 'off', true)",
};
ROWS_LIST_FN(keys_rotated, key_row, (int64_t since), (db_int(since)),
    SELECT_KEYS " WHERE revoked_at IS NULL AND rotated_at >= $1");
ROWS_LIST_FN(keys_by_digest, key_row, (const struct sha256 *digest),
    (db_blob(digest_str(digest))),
    SELECT_KEYS " WHERE digest = $1 LIMIT 1");
ROWS_LIST_FN(changed_keys, key_row, (struct change_span span),
    (db_int(span.after), db_int(span.until)),
    SELECT_KEYS " WHERE changed > $1 AND changed <= $2");
#define ONE_KEY SELECT_KEYS " WHERE tenant_id = $1 AND key_id = $2"
static const struct db_query lock_key = {
    .row = &key_row,
    .sqlite = ONE_KEY,
    .postgres = ONE_KEY " FOR UPDATE",
};
DB_QUERY(set_rotated,
    "UPDATE keys SET rotated_at = COALESCE(rotated_at, $3), changed = " CHANGE_NUMBER
    " WHERE tenant_id = $1 AND key_id = $2");
DB_QUERY(revoke_unused, REVOKE "predecessor = $2 AND first_used_at IS NULL RETURNING key_id");
DB_QUERY(set_first_used,
    "UPDATE keys SET first_used_at = COALESCE(first_used_at, $3)"
    " WHERE tenant_id = $1 AND key_id = $2 AND revoked_at IS NULL");
DB_QUERY(set_used,
    "UPDATE keys SET last_used_at = $3 WHERE tenant_id = $1 AND key_id = $2"
    " AND (last_used_at IS NULL OR last_used_at < $3)");
static const struct db_query set_all_used = {
    .postgres = "WITH locked AS (SELECT k.tenant_id, k.key_id, u.at"
                " FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS u(tenant_id, key_id, at)"
                " JOIN keys k ON k.tenant_id = u.tenant_id AND k.key_id = u.key_id"
                " WHERE k.last_used_at IS NULL OR k.last_used_at < u.at"
                " ORDER BY k.key_id COLLATE \"C\" FOR NO KEY UPDATE OF k)"
                " UPDATE keys k SET last_used_at = l.at FROM locked l"
                " WHERE k.tenant_id = l.tenant_id AND k.key_id = l.key_id",
    .citus = "SELECT 0", /* one by one */
};
DB_ROWS_QUERY(select_tenant_keys, key_shape,
    "SELECT key_id, agent_name, label, created_at, last_used_at, expires_at, revoked_at,"
    " predecessor, rotated_at, CASE WHEN read_only <> 0 THEN 'read_only'"
    " WHEN agent_name IS NULL THEN 'workspace' ELSE 'agent' END AS kind FROM keys WHERE tenant_id = $1"
    " AND (created_at, key_id) > ($2, $3) ORDER BY created_at, key_id LIMIT $4");
/* Read from an index of these alone. Left to itself SQLite also reads the keys that ended, of which
 * there may be any number. */
#define IN_USE " WHERE tenant_id = $1 AND revoked_at IS NULL AND rotated_at IS NULL"
const struct db_query keys_in_use_query = {
    .sqlite = "SELECT COUNT(*) FROM keys INDEXED BY keys_in_use" IN_USE,
    .postgres = "SELECT COUNT(*) FROM keys" IN_USE,
};
DB_QUERY(select_created, "SELECT created_at FROM keys WHERE tenant_id = $1 AND key_id = $2");
/* Those that ended before $4, except the first of the line and its newest $3. */
DB_QUERY(select_forgettable,
    "SELECT key_id FROM keys WHERE tenant_id = $1 AND line = $2 AND key_id <> $2"
    " AND created_at < (SELECT created_at FROM keys WHERE tenant_id = $1 AND line = $2"
    " ORDER BY created_at DESC LIMIT 1 OFFSET $3)"
    " AND (revoked_at < $4 OR expires_at < $4 OR rotated_at < $4)"
    " ORDER BY created_at LIMIT $5");
DB_QUERY(skip_predecessor,
    "UPDATE keys SET predecessor = (SELECT k.predecessor FROM keys k WHERE k.tenant_id = $1"
    " AND k.key_id = $2) WHERE tenant_id = $1 AND predecessor = $2");
DB_QUERY(delete_key, "DELETE FROM keys WHERE tenant_id = $1 AND key_id = $2");
DB_QUERY(count_rotations,
    "SELECT COUNT(*), MIN(created_at) FROM keys WHERE tenant_id = $1 AND line = $2"
    " AND created_at > $3 AND key_id <> $2");
/* clang-format on */

int key_add(struct db *db, const struct key_row *row, struct error *err)
{
    assert(!row->read_only || str_is_null(row->agent_name));
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_text(row->key_id), db_blob(digest_str(&row->digest)),
                db_text(row->agent_name), db_text(row->label), db_int(row->created_at),
                rows_time_value(row->last_used_at), rows_time_value(row->expires_at),
                rows_time_value(row->revoked_at), db_text(row->predecessor),
                rows_time_value(row->rotated_at), rows_time_value(row->first_used_at),
                db_int(row->read_only), db_text(str_is_null(row->line) ? row->key_id : row->line));

    return db_run_later(db, &insert_key, args, err);
}

int keys_load(struct db *db, const struct keys_page *page, struct arena *arena, struct list *ret,
              struct error *err)
{
    const struct str after = str_is_null(page->after) ? STR_LIT("") : page->after;
    const struct db_args cursor = DB_ARGS(db_int(page->tenant_id), db_text(after));
    int64_t created_at = INT64_MIN;

    if (!str_is_null(page->after)) {
        if (db_exec(db, &select_created, cursor, db_read_int, &created_at, err) != 0)
            return -1;
        if (created_at == INT64_MIN)
            return err_set(err, ERR_NOT_FOUND, "there is no key '%.*s'", STR_ARG(after));
    }
    return rows_list(
        db, &select_tenant_keys,
        DB_ARGS(db_int(page->tenant_id), db_int(created_at), db_text(after), db_int(page->limit)),
        arena, ret, err);
}

int keys_count(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    return db_exec(db, &keys_in_use_query, DB_ARGS(db_int(tenant_id)), db_read_int, ret, err);
}

int keys_load_page(struct db *db, const struct keys_portion *from, struct arena *arena,
                   struct list *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(from->since), db_int(from->tenant_id),
                                        db_text(from->after), db_int(from->limit));

    if (db_run(db, &do_not_sort, DB_NO_ARGS, err) != 0)
        return -1;
    return rows_list(db, &select_portion, args, arena, ret, err);
}

int key_lock(struct db *db, int64_t tenant_id, struct str key_id, struct arena *arena,
             struct key_row *ret, struct error *err)
{
    if (rows_one(db, &lock_key, DB_ARGS(db_int(tenant_id), db_text(key_id)), arena, ret, err) != 0)
        return -1;
    return str_is_null(ret->key_id)
               ? err_set(err, ERR_NOT_FOUND, "there is no key '%.*s'", STR_ARG(key_id))
               : 0;
}

static bool add_key_id(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct str *key_id = rows_add(rows);

    *key_id = rows_text(rows->arena, row, 0);
    return true;
}

/* Repeats until nothing is left to revoke: a key may be rotated at the same time, and the next
 * round finds its successor. A revoked key cannot be rotated. */
static int revoke_line(struct db *db, const struct db_args args, struct rows *rows,
                       struct error *err)
{
    size_t before;

    do {
        before = rows->n;
        if (db_exec(db, &revoke_descent, args, add_key_id, rows, err) != 0)
            return -1;
    } while (rows->n > before);
    return 0;
}

int key_revoke(struct db *db, const struct key_revocation *revocation, struct arena *arena,
               struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct str) };
    const struct db_args args = DB_ARGS(db_int(revocation->tenant_id), db_text(revocation->key_id),
                                        db_int(revocation->now_us));
    struct key_row key;

    if (key_lock(db, revocation->tenant_id, revocation->key_id, arena, &key, err) != 0)
        return -1;
    if (revocation->descent ? revoke_line(db, args, &rows, err) != 0
                            : db_exec(db, &revoke_key, args, add_key_id, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

static bool read_rotations(void *ctx, const struct db_row *row)
{
    struct key_rotations *rotations = ctx;

    rotations->n = db_get_int(row, 0);
    rotations->first_at = rows_time(row, 1);
    return true;
}

int key_rotations_load(struct db *db, const struct key_row *key, int64_t since,
                       struct key_rotations *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(key->tenant_id), db_text(key->line), db_int(since));

    *ret = (struct key_rotations){ 0 };
    return db_exec(db, &count_rotations, args, read_rotations, ret, err);
}

int key_rotated(struct db *db, const struct key_row *key, int64_t now_us, struct arena *arena,
                struct list *ret_replaced, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct str) };
    const struct db_args args =
        DB_ARGS(db_int(key->tenant_id), db_text(key->key_id), db_int(now_us));

    if (db_run_later(db, &set_rotated, args, err) != 0 ||
        db_exec(db, &revoke_unused, args, add_key_id, &rows, err) != 0)
        return -1;
    *ret_replaced = (struct list){ rows.items, rows.n };
    return 0;
}

int keys_forget(struct db *db, const struct key_row *key, int64_t ended_before, struct arena *arena,
                struct error *err)
{
    enum { STEP = 2 }; /* each rotation adds one */
    struct rows rows = { .arena = arena, .size = sizeof(struct str) };
    const struct db_args args =
        DB_ARGS(db_int(key->tenant_id), db_text(key->line), db_int(KEYS_OF_LINE_KEPT - 1),
                db_int(ended_before), db_int(STEP));

    if (db_exec(db, &select_forgettable, args, add_key_id, &rows, err) != 0)
        return -1;
    for (size_t i = 0; i < rows.n; i++) {
        const struct str old = ((const struct str *)rows.items)[i];
        const struct db_args one = DB_ARGS(db_int(key->tenant_id), db_text(old));

        if (db_run(db, &skip_predecessor, one, err) != 0 || db_run(db, &delete_key, one, err) != 0)
            return -1;
    }
    return 0;
}

int key_first_used(struct db *db, int64_t tenant_id, struct str key_id, int64_t now_us, bool *ret,
                   struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(key_id), db_int(now_us));

    return db_run_changed(db, &set_first_used, args, ret, err);
}

static int set_each_used(struct db *db, const struct key_used *used, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct db_args args =
            DB_ARGS(db_int(used[i].tenant_id), db_text(used[i].key_id), db_int(used[i].at));

        if (db_run_later(db, &set_used, args, err) != 0)
            return -1;
    }
    return 0;
}

int keys_used(struct db *db, const struct key_used *used, size_t n, struct error *err)
{
    struct db_value args[3];
    ARENA_SCOPED(arena);
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), &arena);

    if (!pg_arrays_suit(db))
        return set_each_used(db, used, n, err);
    for (size_t i = 0; i < n; i++)
        pg_arrays_add(&arrays,
                      (const struct db_value[]){ db_int(used[i].tenant_id), db_text(used[i].key_id),
                                                 db_int(used[i].at) });
    pg_arrays_args(&arrays, args);
    return db_run(db, &set_all_used, DB_ARGS_OF(args), err);
}
