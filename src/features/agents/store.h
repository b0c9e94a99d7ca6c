/* store.h - agents as rows. Their names may be of any length (db/name_key.h). */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;

struct agent_row {
    int64_t agent_id; /* 0: no such agent */
    bool enabled;
    int64_t last_seen_at;            /* TIME_NULL: never */
    struct opt_int interval_seconds; /* as registered */
};

/* Deleted agents are not found. */
int store_agent_find(struct db *db, int64_t tenant_id, struct str agent_name, struct agent_row *ret,
                     struct error *err) MUST_CHECK;

/* Finds deleted agents too, since their reports remain; 0 when there never was such an agent. */
int store_agent_id(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                   struct error *err) MUST_CHECK;

/* The same for a filter: 0 when agent_name is null, -1 when there is no agent of that name. */
int store_agent_filter(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                       struct error *err) MUST_CHECK;

/* Adds the agent unless the tenant already has max_agents: then agent_id stays 0. The limit is
 * exact across processes: the tenant's row is locked until the transaction ends. When another
 * process added the name first, finds that agent. A deleted agent is restored, enabled, and counts
 * again. */
int store_agent_add(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
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
 * no name that another process has added or that was deleted. store_agent_add() decides about
 * these. */
int store_agents_find(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                      struct error *err) MUST_CHECK;
int store_agents_add(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                     struct error *err) MUST_CHECK;

/* In a change of the registry, as is deleting one. ERR_NOT_FOUND. */
int store_agent_enable(struct db *db, int64_t tenant_id, struct str agent_name, bool enabled,
                       int64_t *ret_agent_id, struct error *err) MUST_CHECK;

/* Mutes the agent's alerts until a time; TIME_NULL unmutes. ERR_NOT_FOUND. */
int store_agent_mute(struct db *db, int64_t tenant_id, struct str agent_name, int64_t until,
                     struct error *err) MUST_CHECK;

/* By agent_id; false for an unknown agent. Off: disabled or deleted. */
int store_agent_is_off(struct db *db, int64_t tenant_id, int64_t agent_id, bool *ret,
                       struct error *err) MUST_CHECK;
int store_agent_is_muted(struct db *db, int64_t tenant_id, int64_t agent_id, int64_t now_us,
                         bool *ret, struct error *err) MUST_CHECK;

struct agent_deletion {
    int64_t agent_id;
    int64_t keys_revoked;
};

/* Marks the agent as deleted, clears its registration and revokes the keys bound to it.
 * ERR_NOT_FOUND. */
int store_agent_delete(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                       struct agent_deletion *ret, struct error *err) MUST_CHECK;

struct agent_name {
    int64_t agent_id;
    struct str name;
};

/* The names of all agents, also deleted ones, by agent_id: a list of struct agent_name; in the
 * arena. */
int store_agent_names(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                      struct error *err) MUST_CHECK;
