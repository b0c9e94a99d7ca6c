/* signs.h - signs of life of agents as rows.
 *
 * Layer: store. May use: base, contract, db.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;

/* A time that lies further than this after another sign's is no good: a clock was set back. */
#define SIGNS_AHEAD_US (60LL * 1000 * 1000)

/* Is a sign later than another, by the clocks as they were? */
static inline bool sign_is_later(int64_t at, int64_t than)
{
    return at > than || than - SIGNS_AHEAD_US > at;
}

struct sign {
    int64_t tenant_id, agent_id;
    int64_t at;
    bool stored; /* set by store_signs_put(); false: another process was writing the same row */
};

/* Notes that the agents were alive. The latest time stands, but for one that is too far ahead.
 * Sorts the signs. */
int store_signs_put(struct db *db, struct sign *signs, size_t n, struct error *err) MUST_CHECK;
