/* documents.c - agents' documents, from the shapes of the API to rows and back. */
#include "features/agents/documents/documents.h"

#include "base/clock.h"
#include "features/agents/documents/diff.h"

/* ERR_NOT_FOUND when there is none. */
static int find(struct db *db, const struct document_key *place, int64_t version,
                struct arena *arena, struct document_row *ret, struct error *err)
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

static struct str format_name(const struct document_row *row)
{
    return str_of(document_format_names[row->format]);
}

static struct document answer(const struct document_key *place, const struct document_row *row)
{
    return (struct document){ .agent_name = place->agent_name,
                              .format = format_name(row),
                              .document = row->document,
                              .version = row->version,
                              .updated_at = row->updated_at,
                              .author = row->author };
}

int documents_pull(struct db *db, const struct document_key *place, struct arena *arena,
                   struct agent_document *ret, struct error *err)
{
    struct document_row row;

    if (find(db, place, 0, arena, &row, err) != 0)
        return -1;
    *ret = (struct agent_document){ .agent_name = place->agent_name,
                                    .format = format_name(&row),
                                    .document = row.document,
                                    .version = row.version,
                                    .updated_at = row.updated_at };
    return 0;
}

int documents_show(struct db *db, const struct document_key *place, int64_t version,
                   struct arena *arena, struct document *ret, struct error *err)
{
    struct document_row row;

    if (find(db, place, version, arena, &row, err) != 0)
        return -1;
    *ret = answer(place, &row);
    return 0;
}

/* `text` and `format` after the version `newest`. */
static int add_version(struct db *db, const struct document_key *place,
                       const struct document_row *newest, struct document_row *row,
                       struct error *err)
{
    if (newest->version != 0 && newest->format == row->format &&
        str_eq(newest->document, row->document)) {
        *row = *newest; /* a retry, or nothing was edited */
        return 0;
    }
    row->version = newest->version + 1;
    row->bytes = (int64_t)row->document.len;
    row->updated_at = clock_wall_us();
    return store_document_add(db, place, row, err);
}

int documents_set(struct db *db, const struct document_key *place, const struct document_set *set,
                  struct arena *arena, struct document *ret, struct error *err)
{
    struct document_row row = { .format = (enum document_format)set->format,
                                .document = set->document,
                                .author = place->author };
    struct document_row newest;

    if (store_document(db, place, 0, arena, &newest, err) != 0)
        return -1;
    if (set->base_version.has && set->base_version.value != newest.version)
        return err_set(err, ERR_CONFLICT,
                       "the edit is based on version %lld, but the newest is %lld; review that and "
                       "set the document again",
                       (long long)set->base_version.value, (long long)newest.version);
    if (add_version(db, place, &newest, &row, err) != 0)
        return -1;
    *ret = answer(place, &row);
    return 0;
}

int documents_restore(struct db *db, const struct document_key *place, int64_t version,
                      struct arena *arena, struct document *ret, struct error *err)
{
    struct document_row old, newest, row;

    if (find(db, place, version, arena, &old, err) != 0 ||
        find(db, place, 0, arena, &newest, err) != 0)
        return -1;
    row = (struct document_row){ .format = old.format,
                                 .document = old.document,
                                 .author = place->author };
    if (add_version(db, place, &newest, &row, err) != 0)
        return -1;
    *ret = answer(place, &row);
    return 0;
}

int documents_history(struct db *db, const struct document_key *place,
                      const struct history_query *query, struct arena *arena,
                      struct document_history *ret, struct error *err)
{
    const struct document_row *rows;
    struct document_version *versions;
    struct list list;

    if (store_document_versions(db, place, query, arena, &list, err) != 0)
        return -1;
    rows = list.items;
    versions = ARENA_ARRAY(arena, struct document_version, list.n);
    for (size_t i = 0; i < list.n; i++)
        versions[i] = (struct document_version){ .version = rows[i].version,
                                                 .format = format_name(&rows[i]),
                                                 .bytes = rows[i].bytes,
                                                 .updated_at = rows[i].updated_at,
                                                 .author = rows[i].author };
    *ret = (struct document_history){ .agent_name = place->agent_name,
                                      .versions = { versions, list.n } };
    /* versions are numbered without a gap, from 1 */
    if (list.n > 0 && rows[list.n - 1].version > 1)
        ret->next = (struct opt_int){ true, rows[list.n - 1].version };
    return 0;
}

int documents_diff(struct db *db, const struct document_key *place, const struct diff_query *query,
                   struct arena *arena, struct document_diff *ret, struct error *err)
{
    struct document_row from, to;
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
