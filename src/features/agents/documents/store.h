/* store.h - agents' documents as rows, every version. Names may be of any length
 * (db/name_key.h).
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/agents/documents/shapes.h"

struct db;

/* Whose document, and who does something to it. */
struct document_key {
    int64_t tenant_id;
    struct str agent_name;
    struct str author; /* of a change */
};

struct document_row {
    int64_t version; /* 0: there is none */
    enum document_format format;
    struct str document; /* STR_NULL in a list */
    int64_t bytes;
    int64_t updated_at;
    struct str author;
};

/* The version, or the newest with 0; in the arena. */
int store_document(struct db *db, const struct document_key *place, int64_t version,
                   struct arena *arena, struct document_row *ret, struct error *err) MUST_CHECK;

/* At most `limit` versions before `before`, newest first, without their texts; in the arena. */
int store_document_versions(struct db *db, const struct document_key *place,
                            const struct history_query *query, struct arena *arena,
                            struct list *ret, struct error *err) MUST_CHECK;

/* ERR_CONFLICT when the agent has this version already. */
int store_document_add(struct db *db, const struct document_key *place,
                       const struct document_row *row, struct error *err) MUST_CHECK;
