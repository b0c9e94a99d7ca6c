/* store.h - agents' documents as rows, every version. Names may be of any length
 * (db/name_key.h).
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/shapes.h"

struct db;

/* The agent whose document it is. */
struct document_key {
    int64_t tenant_id;
    struct str agent_name;
};

/* The version, or the newest with 0; its version is 0 when there is no such document. In the
 * arena. */
int document_read(struct db *db, const struct document_key *key, int64_t version,
                  struct arena *arena, struct document *ret, struct error *err) MUST_CHECK;

/* At most `limit` versions before `before`, newest first: a list of struct document_version; in the
 * arena. */
int document_list_versions(struct db *db, const struct document_key *key,
                           const struct history_query *query, struct arena *arena, struct list *ret,
                           struct error *err) MUST_CHECK;

/* ERR_CONFLICT when the agent already has this version. */
int document_add(struct db *db, const struct document_key *key, const struct document *document,
                 struct error *err) MUST_CHECK;
