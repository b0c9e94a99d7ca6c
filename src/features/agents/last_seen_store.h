/* last_seen_store.h - agents' last-seen times as rows. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;

/* A time further in the future than this is wrong: a clock has been set back since. */
#define SIGNS_AHEAD_US (60LL * 1000 * 1000)

/* Is `at` later than `than`, which may be wrong? */
static inline bool sighting_is_later(int64_t at, int64_t than, int64_t now)
{
    int64_t most = now + SIGNS_AHEAD_US;

    return at > than || (than > most && at <= most);
}

struct sighting {
    int64_t tenant_id, agent_id;
    int64_t at;
    bool stored; /* set by store_last_seen_put(); false: another process was writing the same row */
};

/* Stores when the agents were seen. The latest time is kept, unless it is too far in the future.
 * Sorts the sightings. */
int store_last_seen_put(struct db *db, struct sighting *sightings, size_t n, int64_t now,
                        struct error *err) MUST_CHECK;
