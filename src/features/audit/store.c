/* store.c - SQL of the audit log. */
#include "features/audit/store.h"

#include <string.h>

#include "db/db.h"
#include "shape/rows.h"

/* clang-format off */
static const struct db_query make_head = {
    .sql = "INSERT INTO audit_heads (tenant_id, seq, hash) VALUES ($1, 0, $2)"
           " ON CONFLICT (tenant_id) DO NOTHING",
};
static const struct db_query lock_head = {
    .sqlite = "SELECT seq, hash FROM audit_heads WHERE tenant_id = $1",
    .postgres = "SELECT seq, hash FROM audit_heads WHERE tenant_id = $1 FOR UPDATE",
 };
static const struct db_query move_head = {
    .sql = "UPDATE audit_heads SET seq = $2, hash = $3 WHERE tenant_id = $1",
 };
static const struct db_query insert_entry = {
    .sql = "INSERT INTO audit_log (tenant_id, seq, at, actor, action, target, origin, detail, hash)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
};
static const struct db_query select_head = {
    .sql = "SELECT seq, hash FROM audit_heads WHERE tenant_id = $1",
 };
static const struct db_query select_newest = {
    .sql = "SELECT COALESCE(MAX(seq), 0) FROM audit_log WHERE tenant_id = $1",
 };
#define ENTRY_COLUMNS "tenant_id, seq, at, actor, action, target, origin, detail, hash"
static const struct db_query select_page = {
    .sql = "SELECT " ENTRY_COLUMNS " FROM audit_log WHERE tenant_id = $1 AND seq < $2 AND seq >= $3"
           " AND at >= $4 AND at < $5 AND (CAST($6 AS TEXT) IS NULL OR action = $6)"
           " AND (CAST($7 AS TEXT) IS NULL OR actor = $7) ORDER BY seq DESC LIMIT $8",
};
static const struct db_query select_walk = {
    .sql = "SELECT " ENTRY_COLUMNS " FROM audit_log WHERE tenant_id = $1 AND seq > $2"
           " ORDER BY seq LIMIT $3",
};
/* clang-format on */

static struct db_value hash_value(const struct sha256 *hash)
{
    return db_blob(str_from((const char *)hash->bytes, SHA256_BYTES));
}

static struct sha256 read_hash(const struct db_row *row, unsigned column)
{
    struct str bytes = db_get_blob(row, column);
    struct sha256 hash = { 0 };

    if (bytes.len == SHA256_BYTES)
        memcpy(hash.bytes, bytes.data, SHA256_BYTES);
    return hash;
}

static bool read_head(void *ctx, const struct db_row *row)
{
    struct audit_head *head = ctx;

    head->seq = db_get_int(row, 0);
    head->hash = read_hash(row, 1);
    return true;
}

int store_audit_lock(struct db *db, int64_t tenant_id, struct audit_head *ret, struct error *err)
{
    static const struct sha256 beginning;
    const struct db_args args = DB_ARGS(db_int(tenant_id), hash_value(&beginning));

    *ret = (struct audit_head){ 0 };
    if (db_exec(db, &make_head, args, NULL, NULL, err) != 0)
        return -1;
    return db_exec(db, &lock_head, args, read_head, ret, err);
}

int store_audit_append(struct db *db, const struct audit_entry *entry,
                       const struct audit_head *head, struct error *err)
{
    const struct db_args row =
        DB_ARGS(db_int(entry->tenant_id), db_int(head->seq), db_int(entry->at),
                db_text(entry->actor), db_text(entry->action), db_text(entry->target),
                db_text(entry->origin), db_text(entry->detail), hash_value(&head->hash));
    const struct db_args end =
        DB_ARGS(db_int(entry->tenant_id), db_int(head->seq), hash_value(&head->hash));

    if (db_exec(db, &insert_entry, row, NULL, NULL, err) != 0)
        return -1;
    return db_exec(db, &move_head, end, NULL, NULL, err);
}

int store_audit_head(struct db *db, int64_t tenant_id, struct audit_head *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id));

    *ret = (struct audit_head){ 0 };
    return db_exec(db, &select_head, args, read_head, ret, err);
}

static bool add_entry(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct audit_row *r = rows_add(rows);

    r->seq = db_get_int(row, 1);
    r->entry = (struct audit_entry){ .tenant_id = db_get_int(row, 0),
                                     .at = db_get_int(row, 2),
                                     .actor = rows_text(rows->arena, row, 3),
                                     .action = rows_text(rows->arena, row, 4),
                                     .target = rows_text(rows->arena, row, 5),
                                     .origin = rows_text(rows->arena, row, 6),
                                     .detail = rows_text(rows->arena, row, 7) };
    r->hash = read_hash(row, 8);
    return true;
}

/* Numbers of entries: below `before`, and not below `floor`. */
struct span {
    int64_t before, floor;
};

static int find(struct db *db, int64_t tenant_id, const struct audit_filter *f,
                const struct span *span, struct rows *rows, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_int(span->before), db_int(span->floor), db_int(f->since),
                db_int(f->until), db_text(f->action), db_text(f->actor), db_int(f->limit + 1));

    return db_exec(db, &select_page, args, add_entry, rows, err);
}

/* Since numbers have no gaps, the span of them bounds what is looked at, whatever is found. */
int store_audit_page(struct db *db, int64_t tenant_id, const struct audit_filter *filter,
                     struct arena *arena, struct audit_rows *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct audit_row) };
    const struct db_args tenant = DB_ARGS(db_int(tenant_id));
    int64_t newest = 0, before, floor;

    if (db_exec(db, &select_newest, tenant, db_read_int, &newest, err) != 0)
        return -1;
    before = filter->before > newest ? newest + 1 : filter->before;
    floor = before - filter->scan_max > 1 ? before - filter->scan_max : 1;
    if (find(db, tenant_id, filter, &(struct span){ before, floor }, &rows, err) != 0)
        return -1;
    *ret = (struct audit_rows){ .rows = rows.items, .n = rows.n, .more = floor > 1, .next = floor };
    if (rows.n > (size_t)filter->limit) {
        ret->n--;
        ret->more = true;
        ret->next = ret->rows[ret->n - 1].seq;
    }
    return 0;
}

int store_audit_walk(struct db *db, int64_t tenant_id, int64_t after, struct arena *arena,
                     struct audit_rows *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct audit_row) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(after), db_int(AUDIT_STEP));

    if (db_exec(db, &select_walk, args, add_entry, &rows, err) != 0)
        return -1;
    *ret = (struct audit_rows){ .rows = rows.items, .n = rows.n, .more = rows.n == AUDIT_STEP };
    return 0;
}
