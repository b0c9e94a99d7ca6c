/* store.c - SQL of agents' documents. */
#include "features/agents/documents/store.h"

#include "db/db.h"
#include "db/name_key.h"
#include "shape/rows.h"

#define COLUMNS "version, format, bytes, updated_at, author"
#define OF_NAME " FROM agent_documents WHERE tenant_id = $1 AND agent_name = $2"

/* clang-format off */
static const struct db_query select_newest = {
    .sql = "SELECT " COLUMNS ", document" OF_NAME " ORDER BY version DESC LIMIT 1",
 };
static const struct db_query select_version = {
    .sql = "SELECT " COLUMNS ", document" OF_NAME " AND version = $3",
 };
static const struct db_query select_versions = {
    .sql = "SELECT " COLUMNS ", NULL" OF_NAME " AND version < $3 ORDER BY version DESC LIMIT $4",
 };
static const struct db_query insert_version = {
    .sql = "INSERT INTO agent_documents (tenant_id, agent_name, full_name, version, format,"
           " document, bytes, updated_at, author) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
           " ON CONFLICT (tenant_id, agent_name, version) DO NOTHING",
};
/* clang-format on */

static bool add_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct document_row *d = rows_add(rows);
    int64_t format = db_get_int(row, 1);

    d->version = db_get_int(row, 0);
    d->format = format >= DOCUMENT_TEXT && format <= DOCUMENT_YAML ? (enum document_format)format
                                                                   : DOCUMENT_TEXT;
    d->bytes = db_get_int(row, 2);
    d->updated_at = db_get_int(row, 3);
    d->author = rows_text(rows->arena, row, 4);
    d->document = rows_text(rows->arena, row, 5);
    return true;
}

int store_document(struct db *db, const struct document_key *place, int64_t version,
                   struct arena *arena, struct document_row *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct document_row) };
    const struct db_args args =
        DB_ARGS(db_int(place->tenant_id), db_text(store_name_key(place->agent_name, arena).key),
                db_int(version));

    if (db_exec(db, version == 0 ? &select_newest : &select_version, args, add_row, &rows, err) !=
        0)
        return -1;
    *ret = rows.n == 0 ? (struct document_row){ 0 } : *(struct document_row *)rows.items;
    return 0;
}

int store_document_versions(struct db *db, const struct document_key *place,
                            const struct history_query *query, struct arena *arena,
                            struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct document_row) };
    const struct db_args args =
        DB_ARGS(db_int(place->tenant_id), db_text(store_name_key(place->agent_name, arena).key),
                db_int(query->before.has ? query->before.value : INT64_MAX), db_int(query->limit));

    if (db_exec(db, &select_versions, args, add_row, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_document_add(struct db *db, const struct document_key *place,
                       const struct document_row *row, struct error *err)
{
    struct name_key name;
    struct arena arena;
    int r;

    arena_init(&arena);
    name = store_name_key(place->agent_name, &arena);
    r = db_exec(db, &insert_version,
                DB_ARGS(db_int(place->tenant_id), db_text(name.key), db_text(name.full),
                        db_int(row->version), db_int(row->format), db_text(row->document),
                        db_int(row->bytes), db_int(row->updated_at), db_text(row->author)),
                NULL, NULL, err);
    arena_done(&arena);
    if (r != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_CONFLICT,
                       "the document was changed by somebody else at the same moment; look at it "
                       "and set it again");
    return 0;
}
