/* store.h - agents as front ends read them, and their latest runs.
 *
 * Everything returned is in the arena.
 */
#pragma once
#include "base/err.h"
#include "features/agents/schedules/schedule.h"
#include "shape/shape.h"

struct agent_register;
struct db;
struct rows_page; /* shape/rows.h */

/* Characters of a description that a list shows. */
enum { FLEET_DESCRIPTION_MAX = 1024 };

struct fleet_agent {
    int64_t agent_id; /* 0: no such agent */
    struct str key;   /* the sort key: the name, or its beginning and a digest */
    struct str agent_name, registered_version;
    struct str description; /* its beginning */
    bool enabled;
    struct opt_int interval_seconds;
    struct schedule_row schedule;
    int64_t first_seen_at;
    int64_t last_seen_at, registered_at, muted_until; /* TIME_NULL */
};

struct fleet_span {
    struct str after_key; /* STR_NULL: start at the first */
    int64_t limit;
    size_t bytes; /* of memory for them */
};

/* Agents by the bytes of their keys: a list of struct fleet_agent. */
int store_fleet_page(struct db *db, int64_t tenant_id, const struct fleet_span *span,
                     struct arena *arena, struct rows_page *ret, struct error *err) MUST_CHECK;

int store_fleet_agent(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                      struct fleet_agent *ret, struct error *err) MUST_CHECK;

/* What an agent's state is derived from. */
struct fleet_sign {
    int64_t agent_id;
    struct str agent_name; /* valid during the callback */
    bool enabled;
    struct opt_int interval_seconds;
    struct schedule_row schedule; /* valid during the callback */
    int64_t last_seen_at;         /* TIME_NULL */
};

/* All agents of a tenant, by the bytes of their keys. */
int store_fleet_signs(struct db *db, int64_t tenant_id,
                      void (*each)(void *ctx, const struct fleet_sign *sign), void *ctx,
                      struct error *err) MUST_CHECK;

/* The agents with these ids, a list of int64_t, that are still there, in its order: a list of
 * struct fleet_agent. */
int store_fleet_agents_by_id(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                             struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* What an agent declared to read and to give. */
struct fleet_contract {
    int64_t agent_id;
    struct list inputs, outputs; /* of struct io_field */
};

/* Of the agents with these ids, a list of int64_t, that are still there, in any order: a list of
 * struct fleet_contract. */
int store_fleet_contracts(struct db *db, int64_t tenant_id, const struct list *agent_ids,
                          struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* What the agent declared about itself; agent_name is left empty. */
int store_fleet_declared(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                         struct agent_register *ret, struct error *err) MUST_CHECK;
