/* watched.h - the agents that may fall silent soon, in memory: their rows, schedules and
 * maintenance.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "features/agents/schedules/schedules.h"
#include "features/alerts/silence/silence_store.h"

struct agent_cache;
struct agent_entry;

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

/* By the agent's row; the same as `before`, if that is not NULL and its row says the same. */
void watched_set_schedule(struct watched *w, const struct watched *before);

/* After a last-seen time; and the same outside of maintenance. */
struct deadline watched_deadline(struct watched *w, int64_t seen_at, int64_t now);
struct deadline watched_deadline_outside(struct watched *w, int64_t seen_at, int64_t now);

/* The interval in effect, in seconds; 0: by cron. */
int64_t watched_limit(const struct watched *w);

/* Must the open alert be closed? It must if, according to the store, the agent was seen again, is
 * disabled or is not expected to report. Sightings by this process close it when they are stored
 * (silent_alert_on_sightings()). */
bool watched_has_recovered(struct watched *w, int64_t wall_us);
