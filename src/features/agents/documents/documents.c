/* documents.c - agents' documents, from the shapes of the API to rows and back. */
#include "features/agents/documents/documents.h"

#include "base/clock.h"
#include "features/agents/documents/diff.h"

/* ERR_NOT_FOUND when there is none. */
static int find(struct db *db, const struct document_key *place, int64_t version,
                struct arena *arena, struct document *ret, struct error *err)
{
    if (store_document(db, place, version, arena, ret, err) != 0)
        return -1;
    if (ret->version != 0)
        return 0;
    if (version == 0)
        return err_set(err, ERR_NOT_FOUND, "agent '%.*s' has no document",
                       STR_ARG(place->agent_name));
    return err_set(err, ERR_NOT_FOUND, "the document has no version %lld", (long long)version);
}

int documents_pull(struct db *db, const struct document_key *place, struct arena *arena,
                   struct agent_document *ret, struct error *err)
{
    struct document row;

    if (find(db, place, 0, arena, &row, err) != 0)
        return -1;
    *ret = (struct agent_document){ .agent_name = place->agent_name,
                                    .format = row.format,
                                    .document = row.document,
                                    .version = row.version,
                                    .updated_at = row.updated_at };
    return 0;
}

int documents_show(struct db *db, const struct document_key *place, int64_t version,
                   struct arena *arena, struct document *ret, struct error *err)
{
    return find(db, place, version, arena, ret, err);
}

/* Stores *document after the version `newest`, unless it says the same: then it becomes that. */
static int add_version(struct db *db, const struct document_key *place,
                       const struct document *newest, struct document *document, struct error *err)
{
    if (newest->version != 0 && str_eq(newest->format, document->format) &&
        str_eq(newest->document, document->document)) {
        *document = *newest; /* a retry, or nothing was edited */
        return 0;
    }
    document->version = newest->version + 1;
    document->updated_at = clock_wall_us();
    return store_document_add(db, place, document, err);
}

int documents_set(struct db *db, const struct document_key *place, const struct document_set *set,
                  struct arena *arena, struct document *ret, struct error *err)
{
    struct document newest;

    if (store_document(db, place, 0, arena, &newest, err) != 0)
        return -1;
    if (set->base_version.has && set->base_version.value != newest.version)
        return err_set(err, ERR_CONFLICT,
                       "the edit is based on version %lld, but the newest is %lld; review that and "
                       "set the document again",
                       (long long)set->base_version.value, (long long)newest.version);
    *ret = (struct document){ .agent_name = place->agent_name,
                              .format = str_of(document_format_names[set->format]),
                              .document = set->document,
                              .author = place->author };
    return add_version(db, place, &newest, ret, err);
}

int documents_restore(struct db *db, const struct document_key *place, int64_t version,
                      struct arena *arena, struct document *ret, struct error *err)
{
    struct document newest;

    if (find(db, place, version, arena, ret, err) != 0 ||
        find(db, place, 0, arena, &newest, err) != 0)
        return -1;
    ret->author = place->author;
    return add_version(db, place, &newest, ret, err);
}

int documents_history(struct db *db, const struct document_key *place,
                      const struct history_query *query, struct arena *arena,
                      struct document_history *ret, struct error *err)
{
    const struct document_version *versions;

    *ret = (struct document_history){ .agent_name = place->agent_name };
    if (store_document_versions(db, place, query, arena, &ret->versions, err) != 0)
        return -1;
    versions = ret->versions.items;
    /* versions are numbered without a gap, from 1 */
    if (ret->versions.n > 0 && versions[ret->versions.n - 1].version > 1)
        ret->next = (struct opt_int){ true, versions[ret->versions.n - 1].version };
    return 0;
}

int documents_diff(struct db *db, const struct document_key *place, const struct diff_query *query,
                   struct arena *arena, struct document_diff *ret, struct error *err)
{
    struct document from, to;
    struct diff_side old, new;

    if (find(db, place, query->from, arena, &from, err) != 0 ||
        find(db, place, query->to, arena, &to, err) != 0)
        return -1;
    old = (struct diff_side){ from.document,
                              arena_printf(arena, "version %lld", (long long)query->from) };
    new = (struct diff_side){ to.document,
                              arena_printf(arena, "version %lld", (long long)query->to) };
    *ret = (struct document_diff){ .agent_name = place->agent_name,
                                   .from = query->from,
                                   .to = query->to,
                                   .diff = diff_unified(&old, &new, arena) };
    return 0;
}
