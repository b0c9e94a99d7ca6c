/* store.c - SQL of the audit log. */
#include "features/audit/audit.h"

#include <string.h>

#include "db/db.h"
#include "features/audit/shapes.h"
#include "shape/rows.h"

enum {
    PAGE_BYTES = 8 << 20, /* of memory; an entry may have 128 KiB of names */
    SCAN_MAX = 10000      /* entries scanned for a page */
};

/* clang-format off */
#define SELECT_HEAD                                                                                \
    "SELECT seq, hash, signed_seq, signed_hash, unsigned_entries, signature FROM audit_heads"      \
    " WHERE tenant_id = $1"
DB_QUERY(make_head,
    "INSERT INTO audit_heads (tenant_id, seq, hash) VALUES ($1, 0, $2)"
    " ON CONFLICT (tenant_id) DO NOTHING");
static const struct db_query lock_head = {
    .sqlite = SELECT_HEAD,
    .postgres = SELECT_HEAD " FOR UPDATE",
};
DB_QUERY(move_head,
    "UPDATE audit_heads SET seq = $2, hash = $3, signed_seq = $4, signed_hash = $5,"
    " unsigned_entries = $6, signature = $7 WHERE tenant_id = $1");
DB_QUERY(insert_entry,
    "INSERT INTO audit_log (tenant_id, seq, at, actor, action, target, origin, detail, hash)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
DB_QUERY(select_head, SELECT_HEAD);
DB_QUERY(select_hash, "SELECT hash FROM audit_log WHERE tenant_id = $1 AND seq = $2");
DB_QUERY(select_unsigned,
    "SELECT tenant_id FROM audit_heads WHERE signature IS NULL AND seq > 0 LIMIT 1");
#define SELECT_NEXT "SELECT COALESCE(MIN(tenant_id), 0) FROM audit_heads WHERE tenant_id > $1"
static const struct db_query select_next = { .sql = SELECT_NEXT, .citus = SELECT_NEXT };
DB_QUERY(select_newest, "SELECT COALESCE(MAX(seq), 0) FROM audit_log WHERE tenant_id = $1");
#define ENTRY_COLUMNS "seq, at, actor, action, target, origin, detail"
#define IN_PAGE                                                                                    \
    " FROM audit_log WHERE tenant_id = $1 AND seq < $2 AND seq >= $3"                              \
    " AND at >= $4 AND at < $5 AND (CAST($6 AS TEXT) IS NULL OR action = $6)"                      \
    " AND (CAST($7 AS TEXT) IS NULL OR actor = $7"                                                  \
    " OR SUBSTR(actor, 1, LENGTH($7) + 1) = $7 || ' ') ORDER BY seq DESC LIMIT $8"
static const struct db_query select_page = {
    .row = &audit_item_shape,
    .sqlite = "SELECT " ENTRY_COLUMNS ", lower(hex(hash)) AS hash" IN_PAGE,
    .postgres = "SELECT " ENTRY_COLUMNS ", encode(hash, 'hex') AS hash" IN_PAGE,
};
DB_QUERY(select_walk,
    "SELECT tenant_id, " ENTRY_COLUMNS ", hash FROM audit_log WHERE tenant_id = $1"
    " AND seq > $2 ORDER BY seq LIMIT $3");
/* clang-format on */

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
    head->signed_seq = db_get_int(row, 2);
    head->signed_hash = read_hash(row, 3);
    head->unsigned_entries = db_get_int(row, 4);
    head->is_signed = !db_is_null(row, 5);
    head->signature = read_hash(row, 5);
    return true;
}

int audit_lock(struct db *db, int64_t tenant_id, struct audit_head *ret, struct error *err)
{
    static const struct sha256 beginning;
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_blob(digest_str(&beginning)));

    *ret = (struct audit_head){ 0 };
    if (db_run_later(db, &make_head, args, err) != 0)
        return -1;
    return db_exec(db, &lock_head, args, read_head, ret, err);
}

int audit_append(struct db *db, const struct audit_entry *entry, const struct audit_head *head,
                 struct error *err)
{
    const struct db_args row =
        DB_ARGS(db_int(entry->tenant_id), db_int(head->seq), db_int(entry->at),
                db_text(entry->actor), db_text(entry->action), db_text(entry->target),
                db_text(entry->origin), db_text(entry->detail), db_blob(digest_str(&head->hash)));

    if (db_run_later(db, &insert_entry, row, err) != 0)
        return -1;
    return audit_set_head(db, entry->tenant_id, head, err);
}

int audit_set_head(struct db *db, int64_t tenant_id, const struct audit_head *head,
                   struct error *err)
{
    const struct db_value none = db_blob(STR_NULL);

    return db_run_later(db, &move_head,
                        DB_ARGS(db_int(tenant_id), db_int(head->seq),
                                db_blob(digest_str(&head->hash)), db_int(head->signed_seq),
                                head->is_signed ? db_blob(digest_str(&head->signed_hash)) : none,
                                db_int(head->unsigned_entries),
                                head->is_signed ? db_blob(digest_str(&head->signature)) : none),
                        err);
}

static bool read_one_hash(void *ctx, const struct db_row *row)
{
    *(struct sha256 *)ctx = read_hash(row, 0);
    return true;
}

int audit_stored_hash(struct db *db, int64_t tenant_id, int64_t seq, struct sha256 *ret,
                      struct error *err)
{
    *ret = (struct sha256){ 0 };
    return db_exec(db, &select_hash, DB_ARGS(db_int(tenant_id), db_int(seq)), read_one_hash, ret,
                   err);
}

int audit_next_unsigned(struct db *db, int64_t *ret_tenant_id, bool *ret_found, struct error *err)
{
    *ret_tenant_id = -1;
    if (db_exec(db, &select_unsigned, DB_NO_ARGS, db_read_int, ret_tenant_id, err) != 0)
        return -1;
    *ret_found = *ret_tenant_id >= 0;
    return 0;
}

int audit_next(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    return db_exec(db, &select_next, DB_ARGS(db_int(tenant_id)), db_read_int, ret, err);
}

int audit_stored_head(struct db *db, int64_t tenant_id, struct audit_head *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id));

    *ret = (struct audit_head){ 0 };
    return db_exec(db, &select_head, args, read_head, ret, err);
}

/* Numbers have no gaps, so a range of numbers limits the entries scanned. */
int audit_read_page(struct db *db, int64_t tenant_id, const struct audit_query *query,
                    struct arena *arena, struct listing *ret, struct error *err)
{
    struct rows_page page = { .bytes = PAGE_BYTES };
    int64_t newest = 0, before, floor, next;

    if (db_exec(db, &select_newest, DB_ARGS(db_int(tenant_id)), db_read_int, &newest, err) != 0)
        return -1;
    before = query->before > newest ? newest + 1 : query->before;
    floor = next = before - SCAN_MAX > 1 ? before - SCAN_MAX : 1;
    if (rows_page(db, &select_page,
                  DB_ARGS(db_int(tenant_id), db_int(before), db_int(floor),
                          db_int(query->range.since), db_int(query->range.until),
                          db_text(query->action), db_text(query->actor), db_int(query->limit + 1)),
                  arena, &page, err) != 0)
        return -1;
    ret->list = page.list;
    if (ret->list.n > (size_t)query->limit) {
        ret->list.n--;
        page.cut = true;
    }
    if (page.cut)
        next = ((const struct audit_item *)ret->list.items)[ret->list.n - 1].seq;
    ret->next = page.cut || floor > 1 ? arena_printf(arena, "%lld", (long long)next) : STR_NULL;
    return 0;
}

struct walking {
    audit_row_fn *visit;
    void *ctx;
};

/* By position: an entry may have 128 KiB, and none is kept. */
static bool walk_row(void *ctx, const struct db_row *row)
{
    const struct walking *w = ctx;
    const struct audit_row found = {
        .seq = db_get_int(row, 1),
        .entry = { .tenant_id = db_get_int(row, 0),
                   .at = db_get_int(row, 2),
                   .actor = db_get_text(row, 3),
                   .action = db_get_text(row, 4),
                   .target = db_get_text(row, 5),
                   .origin = db_get_text(row, 6),
                   .detail = db_get_text(row, 7) },
        .hash = db_get_blob(row, 8),
    };

    return w->visit(w->ctx, &found);
}

int audit_walk_rows(struct db *db, int64_t tenant_id, int64_t after, audit_row_fn *visit, void *ctx,
                    struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(after), db_int(AUDIT_STEP));
    struct walking w = { visit, ctx };

    return db_exec(db, &select_walk, args, walk_row, &w, err);
}
