/* directives.h - agents' models and command policies in memory, so that loops need no database.
 *
 * After a change those of its tenant are loaded again.
 *
 * Thread-safe once loaded.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct agent_model;
struct command_policy;
struct db;
struct directives_cache;

/* The loaded directives, shared by all threads. */
struct directives_cache *directives_cache_new(void);

/* NULL is fine. */
void directives_cache_free(struct directives_cache *c);

/* Replaces everything, or what one tenant (0: the platform) has. They block: never call them on a
 * loop thread. One thread at a time. */
int directives_cache_load(struct directives_cache *c, struct db *db, struct error *err) MUST_CHECK;
int directives_cache_load_tenant(struct directives_cache *c, int64_t tenant_id, struct db *db,
                                 struct error *err) MUST_CHECK;

/* Why the agent must not use this model now: a sentence, in the arena; STR_NULL: it may. */
typedef struct str directives_stop_fn(void *ctx, int64_t tenant_id, const struct agent_model *model,
                                      struct arena *arena);

/* Before threads start: the function to call before a model is answered. */
void directives_cache_on_pull(struct directives_cache *c, directives_stop_fn *fn, void *ctx);

/* STR_NULL as well without such a function. */
struct str directives_cache_stop(const struct directives_cache *c, int64_t tenant_id,
                                 const struct agent_model *model, struct arena *arena);

/* The agent's own model, else its workspace's, else the platform's; the agent need not be known.
 * Before anything is loaded no model is set. In the arena, except the name, which is borrowed. The
 * command policy goes by the same rules; without any policy, deny_all. */
void directives_cache_model(struct directives_cache *c, int64_t tenant_id, struct str agent_name,
                            struct arena *arena, struct agent_model *ret);
void directives_cache_policy(struct directives_cache *c, int64_t tenant_id, struct str agent_name,
                             struct arena *arena, struct command_policy *ret);
