/* audit.c - SQL of the audit log. */
#include "store/audit.h"

#include <string.h>

#include "db/db.h"
#include "store/rows.h"

/* clang-format off */
static const struct db_query make_head = {
    .sql = "INSERT INTO audit_heads (tenant_id, seq, hash) VALUES ($1, 0, $2)"
           " ON CONFLICT (tenant_id) DO NOTHING",
    .n_args = 2,
};
static const struct db_query lock_head = {
    .sqlite = "SELECT seq, hash FROM audit_heads WHERE tenant_id = $1",
    .postgres = "SELECT seq, hash FROM audit_heads WHERE tenant_id = $1 FOR UPDATE",
    .n_args = 1,
};
static const struct db_query move_head = {
    .sql = "UPDATE audit_heads SET seq = $2, hash = $3 WHERE tenant_id = $1",
    .n_args = 3,
};
static const struct db_query insert_entry = {
    .sql = "INSERT INTO audit_log (tenant_id, seq, at, actor, action, target, origin, detail, hash)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .n_args = 9,
};
/* clang-format on */

static struct db_value hash_value(const struct sha256 *hash)
{
    return db_blob(str_from((const char *)hash->bytes, SHA256_BYTES));
}

static bool read_head(void *ctx, const struct db_row *row)
{
    struct audit_head *head = ctx;
    struct str hash = db_get_blob(row, 1);

    head->seq = db_get_int(row, 0);
    if (hash.len == SHA256_BYTES)
        memcpy(head->hash.bytes, hash.data, SHA256_BYTES);
    return true;
}

int store_audit_lock(struct db *db, int64_t tenant_id, struct audit_head *ret, struct error *err)
{
    static const struct sha256 beginning;
    const struct db_value args[] = { db_int(tenant_id), hash_value(&beginning) };

    *ret = (struct audit_head){ 0 };
    if (db_exec(db, &make_head, args, NULL, NULL, err) != 0)
        return -1;
    return db_exec(db, &lock_head, args, read_head, ret, err);
}

int store_audit_append(struct db *db, const struct audit_entry *entry,
                       const struct audit_head *head, struct error *err)
{
    const struct db_value row[] = { db_int(entry->tenant_id), db_int(head->seq),
                                    db_int(entry->at),        db_text(entry->actor),
                                    db_text(entry->action),   db_text(entry->target),
                                    db_text(entry->origin),   db_text(entry->detail),
                                    hash_value(&head->hash) };
    const struct db_value end[] = { db_int(entry->tenant_id), db_int(head->seq),
                                    hash_value(&head->hash) };

    if (db_exec(db, &insert_entry, row, NULL, NULL, err) != 0)
        return -1;
    return db_exec(db, &move_head, end, NULL, NULL, err);
}
