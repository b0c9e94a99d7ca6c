/* store.h - configuration values, and the security catalog: who may see and edit a parameter.
 *
 * An entry of the catalog belongs to the service: it is created when its key first appears, and
 * later declarations of agents do not change it. Names may be of any length (db/name_key.h).
 */
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

/* Encodes entries for catalog_enter(), outside the transaction; in the arena. */
struct str catalog_prepare(const struct catalog_parameter *entries, size_t n, struct arena *arena);

/* Entries per tenant, exceeded at most by those of one registration: none are added beyond it. */
enum { CATALOG_MAX = 10000 };

int catalog_is_full(struct db *db, int64_t tenant_id, bool *ret, struct error *err) MUST_CHECK;

/* Adds the entries whose key the tenant does not have yet. */
int catalog_enter(struct db *db, int64_t tenant_id, struct str prepared, int64_t now_us,
                  struct error *err) MUST_CHECK;

/* The entry of a key, in the arena; its key is STR_NULL when there is no entry. */
int catalog_entry(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                  struct catalog_parameter *ret, struct error *err) MUST_CHECK;

/* The same of several keys, a list of struct str: one for each, in their order. */
int catalog_entries(struct db *db, int64_t tenant_id, const struct list *keys, struct arena *arena,
                    struct catalog_parameter *ret, struct error *err) MUST_CHECK;

/* By key, at most `limit` after the key `after` (STR_NULL: from the first): a list of struct
 * catalog_parameter; in the arena. */
int catalog_page(struct db *db, int64_t tenant_id, const struct catalog_query *query,
                 struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* Changes an existing entry. */
int catalog_update(struct db *db, int64_t tenant_id, const struct catalog_parameter *entry,
                   struct error *err) MUST_CHECK;

/* The entry that a key gets first. A key that contains password, secret, token, API key or
 * credential in any spelling (apiKey, API-KEY) is secret: admins set it and no one sees it. Others:
 * admins edit, members see. Borrows the key. */
struct catalog_parameter catalog_first_entry(struct str key);
