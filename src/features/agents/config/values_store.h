/* values_store.h - configuration values as rows. Names may be of any length (db/name_key.h). */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/agents/directives/store.h"

struct db;

struct value_row {
    enum directive_scope scope; /* SCOPE_WORKSPACE, SCOPE_AGENT */
    struct str agent_name;
    struct str key, value;
    int64_t updated_at;
    struct str author;
};

/* Those of a workspace, or of an agent and its workspace; by key, an agent's before the
 * workspace's. In the arena; likewise below. */
int store_values(struct db *db, const struct directive_key *place, struct arena *arena,
                 struct value_row **ret, size_t *ret_n, struct error *err) MUST_CHECK;

/* All that are set for a key, wherever, as struct value_row; at most 1,000. */
int store_values_of_key(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                        struct list *ret, struct error *err) MUST_CHECK;

/* The row's place is not looked at. */
int store_value_set(struct db *db, const struct directive_key *place, const struct value_row *row,
                    struct error *err) MUST_CHECK;

/* Unsetting what is not set changes nothing. */
int store_value_unset(struct db *db, const struct directive_key *place, struct str key,
                      struct error *err) MUST_CHECK;
