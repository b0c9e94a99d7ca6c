/* store.c - SQL of agents' documents. */
#include "features/agents/documents/store.h"

#include "db/name_key.h"
#include "shape/rows.h"

#define COLUMNS "version, format, updated_at, author"
#define OF_NAME " FROM agent_documents WHERE tenant_id = $1 AND agent_name = $2"

/* clang-format off */
DB_ROWS_QUERY(select_newest, document_shape,
    "SELECT " COLUMNS ", document" OF_NAME " ORDER BY version DESC LIMIT 1");
DB_ROWS_QUERY(select_version, document_shape,
    "SELECT " COLUMNS ", document" OF_NAME " AND version = $3");
ROWS_LIST_FN(document_list_versions, document_version_shape,
    (const struct document_key *key, const struct history_query *query),
    (db_int(key->tenant_id), db_text(store_name_key(key->agent_name, arena).key),
     db_int(query->before.has ? query->before.value : INT64_MAX), db_int(query->limit)),
    "SELECT " COLUMNS ", bytes" OF_NAME " AND version < $3 ORDER BY version DESC LIMIT $4");
DB_QUERY(insert_version,
    "INSERT INTO agent_documents (tenant_id, agent_name, full_name, version, format,"
    " document, bytes, updated_at, author) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    " ON CONFLICT (tenant_id, agent_name, version) DO NOTHING");
/* clang-format on */

int document_read(struct db *db, const struct document_key *key, int64_t version,
                  struct arena *arena, struct document *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(key->tenant_id), db_text(store_name_key(key->agent_name, arena).key),
                db_int(version));

    if (rows_one(db, version == 0 ? &select_newest : &select_version, args, arena, ret, err) != 0)
        return -1;
    ret->agent_name = key->agent_name;
    return 0;
}

static int64_t format_number(struct str name)
{
    int64_t n = DOCUMENT_TEXT;

    while (n < DOCUMENT_YAML && !str_eq_c(name, document_format_names[n]))
        n++;
    return n;
}

int document_add(struct db *db, const struct document_key *key, const struct document *document,
                 struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(key->agent_name, &room);

    if (db_run(db, &insert_version,
               DB_ARGS(db_int(key->tenant_id), db_text(name.key), db_text(name.full),
                       db_int(document->version), db_int(format_number(document->format)),
                       db_text(document->document), db_int((int64_t)document->document.len),
                       db_int(document->updated_at), db_text(document->author)),
               err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_CONFLICT,
                       "another user changed the document at the same time; review it and set it "
                       "again");
    return 0;
}
