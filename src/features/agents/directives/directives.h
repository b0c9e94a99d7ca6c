/* directives.h - what agents are told, in memory, so that loops never ask a database.
 *
 * Loaded whole whenever something changed, and never changed after that.
 *
 * Thread-safe once loaded.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/agents/directives/store.h"

struct agent_model;
struct command_policy;
struct db;
struct directives;
struct directives_cache;

/* "platform", "workspace", "agent". */
struct str directive_source(int scope);

/* Everything that is set. The caller owns *ret. */
int directives_load(struct db *db, struct directives **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void directives_free(struct directives *g);

/* The agent's own, else its workspace's, else the platform's; an agent that nobody has heard of is
 * answered likewise. A NULL `g` is one where nothing is set. In the arena, but for the name, which
 * is borrowed. */
void directives_model(const struct directives *g, int64_t tenant_id, struct str agent_name,
                      struct arena *arena, struct agent_model *ret);

/* Likewise; when none is set anywhere, nothing is allowed. */
void directives_policy(const struct directives *g, int64_t tenant_id, struct str agent_name,
                       struct arena *arena, struct command_policy *ret);

/* What is loaded, for all threads. */
struct directives_cache *directives_cache_new(void);

/* NULL is fine. */
void directives_cache_free(struct directives_cache *c);

/* Replaces the whole. Blocks: never on a loop thread. */
int directives_cache_load(struct directives_cache *c, struct db *db, struct error *err) MUST_CHECK;

/* As directives_model() and directives_policy(). */
void directives_cache_model(struct directives_cache *c, int64_t tenant_id, struct str agent_name,
                            struct arena *arena, struct agent_model *ret);
void directives_cache_policy(struct directives_cache *c, int64_t tenant_id, struct str agent_name,
                             struct arena *arena, struct command_policy *ret);
