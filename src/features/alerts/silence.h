/* silence.h - the agents that may fall silent soon, in memory: their rows, schedules and
 * maintenance; and the end of a silence when an agent is seen.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "features/alerts/store.h"

struct agent_cache;
struct agent_entry;
struct sighting;
struct txn;

/* What the schedule says after a last-seen time, kept so that a cron expression is evaluated once
 * per expected time, and not at each tick. */
struct memo {
    int64_t from;  /* TIME_NULL: nothing is kept */
    int64_t until; /* last-seen times before it lead to the same */
    struct deadline deadline;
};

/* An agent that may be late soon, or with an open alert. */
struct watched {
    struct silence_row row;
    bool open;      /* its alert */
    bool submitted; /* a job to open or close it; the next read shows the result */
    struct agent_entry *entry;
    struct schedule schedule;
    struct windows windows;
    struct memo next;    /* without maintenance */
    struct memo outside; /* moved out of maintenance */
};

struct watched_agents {
    struct watched *agents; /* by tenant and id */
    size_t n;
    struct window *windows; /* of all tenants, by tenant */
    size_t n_windows;
};

void watched_done(struct watched_agents *all);

/* Replaces them by those that may be late from `now` until `until`. Schedules that did not change
 * keep their next times. */
int watched_read(struct watched_agents *all, struct db *db, int64_t now, int64_t until,
                 struct agent_cache *cache, struct error *err) MUST_CHECK;

/* Closes the alerts of agents that were seen. Call within the transaction that stores the
 * sightings. */
int silent_alert_on_sightings(struct txn *txn, const struct sighting *sightings, size_t n,
                              struct error *err) MUST_CHECK;
