/* agents_store.h - agents as rows. Their names may be of any length (db/name_key.h). */
#pragma once
#include "db/db.h"
#include "shape/shape.h"

struct agent_row {
    int64_t agent_id; /* 0: no such agent */
    bool enabled;
    int64_t last_seen_at;            /* TIME_NULL: never */
    struct opt_int interval_seconds; /* as registered */
};

/* Deleted agents are not found. */
int agents_find(struct db *db, int64_t tenant_id, struct str agent_name, struct agent_row *ret,
                struct error *err) MUST_CHECK;

/* The same, and ERR_NOT_FOUND. */
int agents_require(struct db *db, int64_t tenant_id, struct str agent_name, struct agent_row *ret,
                   struct error *err) MUST_CHECK;

/* Adds the agent unless the tenant already has max_agents: then agent_id stays 0. The limit is
 * exact across processes: the tenant's count is locked until the transaction ends. When another
 * process added the name first, finds that agent. A deleted agent is restored, enabled, and counts
 * again. */
int agents_add(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
               struct agent_row *ret, struct error *err) MUST_CHECK;

/* One of several agents that are looked for at once. */
struct agent_seek {
    int64_t tenant_id;
    struct str agent_name;
    int64_t at; /* when it came */
    bool seen;  /* it reported: that is a sighting, which a registration is not */
    struct agent_row row;
};

/* For many agents at once, each named once; PostgreSQL only (pg_arrays_suit()). The first fills in
 * the rows of those that are there. The second adds the others, seen or not, and fills in the rows
 * of those that it added: of a tenant whose cap leaves no room for all of them none, and
 * no name that another process has added or that was deleted. agents_add() decides about these. */
int agents_find_all(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                    struct error *err) MUST_CHECK;
int agents_add_all(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                   struct error *err) MUST_CHECK;

/* In a change of the registry, as is deleting one. ERR_NOT_FOUND. */
int agents_enable(struct db *db, int64_t tenant_id, struct str agent_name, bool enabled,
                  int64_t *ret_agent_id, struct error *err) MUST_CHECK;

struct agent_deletion {
    int64_t agent_id;
    int64_t keys_revoked;
};

/* Marks the agent as deleted, clears its registration and revokes the keys bound to it.
 * ERR_NOT_FOUND. */
int agents_delete(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                  struct agent_deletion *ret, struct error *err) MUST_CHECK;

/* The agent's configuration schema, as JSON in the arena; STR_NULL: not declared. */
int config_schema_of(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                     struct str *ret, struct error *err) MUST_CHECK;

/* Calls on_row with the name and the configuration schema of at most 1,000 agents of a tenant whose
 * schema contains `word`. */
int config_schemas_with(struct db *db, int64_t tenant_id, struct str word, db_row_fn *on_row,
                        void *ctx, struct error *err) MUST_CHECK;
