/* values_store.h - configuration values as rows. Names may be of any length (db/name_key.h). */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/directives/store.h"

struct value_row {
    int scope; /* SCOPE_WORKSPACE, SCOPE_AGENT */
    struct str agent_name;
    struct str key, value;
    int64_t updated_at;
    struct str author;
};

/* The values of a workspace, or of an agent and its workspace, by key, an agent's before the
 * workspace's: a list of struct value_row; in the arena. */
int values_at(struct db *db, const struct directive_key *target, struct arena *arena,
              struct list *ret, struct error *err) MUST_CHECK;

/* The value of one key in effect there: the agent's, else the workspace's. Its key is STR_NULL when
 * none is set. In the arena. */
int value_at(struct db *db, const struct directive_key *target, struct str key, struct arena *arena,
             struct value_row *ret, struct error *err) MUST_CHECK;

struct values_size {
    int64_t n, bytes;
};

/* Of all values set for the workspace, or for the agent, but that of one key. */
int values_measure(struct db *db, const struct directive_key *target, struct str but_key,
                   struct arena *arena, struct values_size *ret, struct error *err) MUST_CHECK;

/* At most 1,000 values set for a key, of the workspace and its agents: a list of struct value_row;
 * in the arena. */
int values_of_key(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                  struct list *ret, struct error *err) MUST_CHECK;

/* Ignores the row's scope and agent. */
int value_put(struct db *db, const struct directive_key *target, const struct value_row *row,
              struct error *err) MUST_CHECK;

/* Does nothing when no value is set. */
int value_remove(struct db *db, const struct directive_key *target, struct str key,
                 struct error *err) MUST_CHECK;
