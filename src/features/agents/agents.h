/* agents.h - agents, as other features find them. Names may be of any length (db/name_key.h). */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct agent_cache;
struct arena;
struct config_schema_decl;
struct db;
struct directives_cache;
struct engine;
struct list;

/* Any thread, from open() on. */
struct agent_cache *agents_cache(const struct engine *e);
struct directives_cache *agents_directives(const struct engine *e);

/* Finds deleted agents too, since their reports remain; 0 when there never was such an agent. */
int agents_id_of(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                 struct error *err) MUST_CHECK;

/* The same for a filter: 0 when agent_name is null, -1 when there is no agent of that name. */
int agents_filter_id(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                     struct error *err) MUST_CHECK;

struct agent_name {
    int64_t agent_id;
    struct str name;
};

/* The names of all agents, also deleted ones, by agent_id: a list of struct agent_name; in the
 * arena. */
int agents_names(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                 struct error *err) MUST_CHECK;

/* Mutes the agent's alerts until a time; TIME_NULL unmutes. ERR_NOT_FOUND. */
int agents_mute(struct db *db, int64_t tenant_id, struct str agent_name, int64_t until,
                struct error *err) MUST_CHECK;

/* False for an unknown agent. Off: disabled or deleted. */
int agents_is_off(struct db *db, int64_t tenant_id, int64_t agent_id, bool *ret,
                  struct error *err) MUST_CHECK;
int agents_is_muted(struct db *db, int64_t tenant_id, int64_t agent_id, int64_t now_us, bool *ret,
                    struct error *err) MUST_CHECK;

/* A sighting further in the future than this is wrong: a clock has been set back since. */
#define SIGHTING_AHEAD_US (60LL * 1000 * 1000)

struct sighting {
    int64_t tenant_id, agent_id;
    int64_t at;
    bool stored; /* set by sightings_put(); false: another process was writing the same row */
};

/* Counts the agents of all tenants, for Citus. */
int agents_count_all(struct db *db, struct error *err) MUST_CHECK;

/* A tenant that has more agents than it is counted for. False: this was the last that is wanted. */
typedef bool agents_low_count_fn(void *ctx, int64_t tenant_id, int64_t counted, int64_t there);

/* Looks for such tenants. Others may write meanwhile. */
int agents_check_counts(struct db *db, agents_low_count_fn *on_low, void *ctx,
                        struct error *err) MUST_CHECK;

/* Removes defaults that not every member may see; the routes of values show them to those who may.
 */
int config_hide_defaults(struct db *db, int64_t tenant_id, struct config_schema_decl *decl,
                         struct arena *arena, struct error *err) MUST_CHECK;
