/* run_cache.h - the states of recently written runs; private to this folder.
 *
 * Most events belong to a run that had another event a moment ago: its number
 * and state need not be read again. Clear the cache when a transaction that
 * put runs into it is rolled back, and when other code changes runs.
 *
 * The writer's thread only.
 */
#pragma once
#include "base/arena.h"
#include "features/events/run_state.h"

struct run_cache;

/* `hash` is that of tenant and id together. */
struct run_cache_key {
    uint64_t hash;
    int64_t tenant_id;
    struct str run_id;
};

struct run_cache *run_cache_new(void);

/* NULL is fine. */
void run_cache_free(struct run_cache *c);

/* The run's number, and its state with strings in the arena; 0 when it is not cached. */
int64_t run_cache_get(const struct run_cache *c, const struct run_cache_key *key,
                      struct arena *arena, struct run_state *ret);

void run_cache_put(struct run_cache *c, const struct run_cache_key *key, int64_t run_no,
                   const struct run_state *state);

void run_cache_remove(struct run_cache *c, const struct run_cache_key *key);

void run_cache_clear(struct run_cache *c);
