/* documents.c - reads, sets and compares agents' documents. */
#include "features/agents/documents/documents.h"

#include "base/clock.h"
#include "features/access/stored_bytes.h"
#include "features/agents/documents/diff.h"

/* ERR_NOT_FOUND. */
static int find_document(struct db *db, const struct document_key *key, int64_t version,
                         struct arena *arena, struct document *ret, struct error *err)
{
    if (store_document(db, key, version, arena, ret, err) != 0)
        return -1;
    if (ret->version != 0)
        return 0;
    if (version == 0)
        return err_set(err, ERR_NOT_FOUND, "agent '%.*s' has no document",
                       STR_ARG(key->agent_name));
    return err_set(err, ERR_NOT_FOUND, "the document has no version %lld", (long long)version);
}

int documents_pull(struct db *db, const struct document_key *key, struct arena *arena,
                   struct agent_document *ret, struct error *err)
{
    struct document row;

    if (find_document(db, key, 0, arena, &row, err) != 0)
        return -1;
    *ret = (struct agent_document){ .agent_name = key->agent_name,
                                    .format = row.format,
                                    .document = row.document,
                                    .version = row.version,
                                    .updated_at = row.updated_at };
    return 0;
}

int documents_show(struct db *db, const struct document_key *key, int64_t version,
                   struct arena *arena, struct document *ret, struct error *err)
{
    return find_document(db, key, version, arena, ret, err);
}

/* Stores *document as the version after `newest`. If nothing has changed, *document becomes
 * *newest. */
static int add_version(struct db *db, const struct document_key *key, const struct document *newest,
                       struct document *document, struct error *err)
{
    if (newest->version != 0 && str_eq(newest->format, document->format) &&
        str_eq(newest->document, document->document)) {
        *document = *newest; /* a retry, or nothing was edited */
        return 0;
    }
    if (key->check_room(key->call, err) != 0)
        return -1;
    document->version = newest->version + 1;
    document->updated_at = clock_wall_us();
    if (store_document_add(db, key, document, err) != 0)
        return -1;
    stored_bytes_add(key->bytes, key->tenant_id,
                     (int64_t)(STORED_ROW_BYTES + document->document.len));
    return 0;
}

int documents_set(struct db *db, const struct document_key *key, const struct document_set *set,
                  struct arena *arena, struct document *ret, struct error *err)
{
    struct document newest;

    if (store_document(db, key, 0, arena, &newest, err) != 0)
        return -1;
    if (set->base_version.has && set->base_version.value != newest.version)
        return err_set(err, ERR_CONFLICT,
                       "the edit is based on version %lld, but the newest is %lld; review that and "
                       "set the document again",
                       (long long)set->base_version.value, (long long)newest.version);
    *ret = (struct document){ .agent_name = key->agent_name,
                              .format = str_of(document_format_names[set->format]),
                              .document = set->document,
                              .author = key->author };
    return add_version(db, key, &newest, ret, err);
}

int documents_restore(struct db *db, const struct document_key *key, int64_t version,
                      struct arena *arena, struct document *ret, struct error *err)
{
    struct document newest;

    if (find_document(db, key, version, arena, ret, err) != 0 ||
        find_document(db, key, 0, arena, &newest, err) != 0)
        return -1;
    ret->author = key->author;
    return add_version(db, key, &newest, ret, err);
}

int documents_history(struct db *db, const struct document_key *key,
                      const struct history_query *query, struct arena *arena,
                      struct document_history *ret, struct error *err)
{
    const struct document_version *versions;

    *ret = (struct document_history){ .agent_name = key->agent_name };
    if (store_document_versions(db, key, query, arena, &ret->versions, err) != 0)
        return -1;
    versions = ret->versions.items;
    /* versions are numbered without a gap, from 1 */
    if (ret->versions.n > 0 && versions[ret->versions.n - 1].version > 1)
        ret->next = (struct opt_int){ true, versions[ret->versions.n - 1].version };
    return 0;
}

int documents_diff(struct db *db, const struct document_key *key, const struct diff_query *query,
                   struct arena *arena, struct document_diff *ret, struct error *err)
{
    struct document from, to;
    struct diff_side old, new;

    if (find_document(db, key, query->from, arena, &from, err) != 0 ||
        find_document(db, key, query->to, arena, &to, err) != 0)
        return -1;
    old = (struct diff_side){ from.document,
                              arena_printf(arena, "version %lld", (long long)query->from) };
    new = (struct diff_side){ to.document,
                              arena_printf(arena, "version %lld", (long long)query->to) };
    *ret = (struct document_diff){ .agent_name = key->agent_name,
                                   .from = query->from,
                                   .to = query->to,
                                   .diff = diff_unified(&old, &new, arena) };
    return 0;
}
