/* last_seen_store.h - signs of life of agents as rows. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;

/* A time that lies further ahead of now than this is no good: a clock was set back since. */
#define SIGNS_AHEAD_US (60LL * 1000 * 1000)

/* Is a sign later than another, whose time may be no good? */
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

/* Notes that the agents were alive. The latest time stands, but for one that is too far ahead of
 * now. Sorts the signs. */
int store_last_seen_put(struct db *db, struct sighting *sightings, size_t n, int64_t now,
                        struct error *err) MUST_CHECK;
