/* guidance.h - what agents are told, in memory, so that loops never ask a database.
 *
 * Loaded whole whenever something changed, and never changed after that.
 *
 * Layer: service. May use: base, contract, db, store. Must not use: http, api. Thread-safe once
 * loaded.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/agents/directives/store.h"

struct agent_model;
struct command_policy;
struct db;
struct guidance;

/* "platform", "workspace", "agent". */
struct str guidance_source(enum guidance_scope scope);

/* Everything that is set. The caller owns *ret. */
int guidance_load(struct db *db, struct guidance **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void guidance_free(struct guidance *g);

/* The agent's own, else its workspace's, else the platform's; an agent that nobody has heard of is
 * answered likewise. A NULL `g` is one where nothing is set. In the arena, but for the name, which
 * is borrowed. */
void guidance_model(const struct guidance *g, int64_t tenant_id, struct str agent_name,
                    struct arena *arena, struct agent_model *ret);

/* Likewise; when none is set anywhere, nothing is allowed. */
void guidance_policy(const struct guidance *g, int64_t tenant_id, struct str agent_name,
                     struct arena *arena, struct command_policy *ret);
