/* store.h - agents as rows. Their names may be of any length (db/name_key.h). */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

struct agent_row {
    int64_t agent_id; /* 0: there is none */
    bool enabled;
    int64_t last_seen_at;            /* TIME_NULL: never */
    struct opt_int interval_seconds; /* as registered */
};

/* One that was deleted is none. */
int store_agent_find(struct db *db, int64_t tenant_id, struct str agent_name, struct agent_row *ret,
                     struct error *err) MUST_CHECK;

/* Also when it was deleted, since its reports are still there; 0 when there was never one. */
int store_agent_id(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                   struct error *err) MUST_CHECK;

/* Adds an agent that is not there yet, unless the tenant already has max_agents: then there is
 * still none. Exact also when several processes race: it holds the tenant's row until the
 * transaction ends. Another process may have added the same name first; then it is that one. One
 * that was deleted is there again, enabled, and counts again. */
int store_agent_add(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                    struct agent_row *ret, struct error *err) MUST_CHECK;

/* How many there are; those that were deleted do not count. */
int store_agent_count(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int store_agent_enable(struct db *db, int64_t tenant_id, struct str agent_name, bool enabled,
                       struct error *err) MUST_CHECK;

/* Until when nobody is told of its alerts; TIME_NULL: they are. ERR_NOT_FOUND. */
int store_agent_mute(struct db *db, int64_t tenant_id, struct str agent_name, int64_t until,
                     struct error *err) MUST_CHECK;

/* By their numbers; of no agent: it is not. Off: disabled, or deleted. */
int store_agent_is_off(struct db *db, int64_t tenant_id, int64_t agent_id, bool *ret,
                       struct error *err) MUST_CHECK;
int store_agent_is_muted(struct db *db, int64_t tenant_id, int64_t agent_id, int64_t now_us,
                         bool *ret, struct error *err) MUST_CHECK;

/* Takes away what the agent declared, and its place among the agents; revokes the keys that are
 * bound to it, whose number is given. ERR_NOT_FOUND. */
int store_agent_delete(struct db *db, int64_t tenant_id, struct str agent_name, int64_t now_us,
                       int64_t *ret_keys, struct error *err) MUST_CHECK;

/* The names of all agents by number, sorted by it; in the arena. */
struct agent_name {
    int64_t agent_id;
    struct str name;
};

int store_agent_names(struct db *db, int64_t tenant_id, struct arena *arena,
                      struct agent_name **ret, size_t *ret_n, struct error *err) MUST_CHECK;
