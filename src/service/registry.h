/* registry.h - tenants, keys and what agents are told, in memory, so that loops never ask a
 * database.
 *
 * What is found stays valid until registry_free(): entries are only ever added
 * or changed in place, never taken away. The database carries a number that
 * grows with every change; registry_refresh() compares it and reloads.
 *
 * Layer: service. May use: base, db, store. Must not use: http, api. Thread-safe.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "service/token.h"

struct agent_model;
struct arena;
struct command_policy;
struct db;
struct rate_window;
struct registry;

struct tenant_entry {
    int64_t id;
    struct str slug;
    _Atomic int64_t max_agents, rate_limit;
};

struct key_entry {
    struct tenant_entry *tenant;
    struct str key_id;
    enum token_kind kind;
    struct str agent_name; /* STR_NULL: a workspace key */
    struct sha256 digest;
    struct rate_window *rate;
    _Atomic int64_t expires_at; /* wall clock, INT64_MAX: never */
    atomic_bool revoked;
};

struct registry *registry_new(void);

/* NULL is fine. */
void registry_free(struct registry *r);

/* Reads the change number and, if it moved, everything. Blocks: never on a loop thread. */
int registry_refresh(struct registry *r, struct db *db, struct error *err) MUST_CHECK;

/* Grows whenever something was loaded anew. */
int64_t registry_number(const struct registry *r);

/* The key with this digest that is neither revoked nor expired at `now_us`; else NULL. */
const struct key_entry *registry_key(struct registry *r, const struct sha256 *digest,
                                     int64_t now_us);

/* NULL when there is none. */
const struct tenant_entry *registry_tenant(struct registry *r, struct str slug);

/* What the agent is told: as in guidance.h. */
void registry_model(struct registry *r, int64_t tenant_id, struct str agent_name,
                    struct arena *arena, struct agent_model *ret);
void registry_policy(struct registry *r, int64_t tenant_id, struct str agent_name,
                     struct arena *arena, struct command_policy *ret);
