/* watched.h - the agents that may fall silent soon, in memory: their rows, schedules and
 * maintenance.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "features/agents/schedules/schedule.h"
#include "features/agents/schedules/windows.h"
#include "features/alerts/silence/silence_store.h"

struct last_seen;
struct last_seen_entry;

/* What the schedule says after a sign of life, kept so that a cron expression is evaluated once per
 * expected time, and not at each tick. */
struct memo {
    int64_t from;  /* TIME_NULL: nothing is kept */
    int64_t until; /* signs of life before it lead to the same */
    struct deadline deadline;
};

/* An agent that may be late soon, or with an open alert. */
struct watched {
    struct silence_row row;
    bool open;  /* its alert */
    bool asked; /* to open or close it; what became of that, the next read shows */
    struct last_seen_entry *entry;
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

/* Forgets all agents. */
void watched_clear(struct watched_agents *all);

/* Reads those that may be late within the span, in the place of all that were known in its range;
 * agents outside of it stay as they are. Schedules that did not change keep what is known of their
 * next times. */
int watched_read(struct watched_agents *all, struct db *db, const struct silence_span *span,
                 struct last_seen *last_seen, struct error *err) MUST_CHECK;

/* NULL: it is not among them. */
struct watched *watched_find(const struct watched_agents *all, int64_t tenant_id, int64_t agent_id);

/* Awaits the next sign of life of each agent that is silent, before it was read as above. */
int watched_await_silent(struct db *db, struct last_seen *last_seen, struct error *err) MUST_CHECK;

/* By the agent's row, or as it was before this read. */
void watched_set_schedule(struct watched *w, const struct watched *before);

/* After a sign of life; and the same outside of maintenance. */
struct deadline watched_deadline(struct watched *w, int64_t seen_at, int64_t now);
struct deadline watched_deadline_outside(struct watched *w, int64_t seen_at, int64_t now);

/* The interval in force, in seconds; 0: by cron. */
int64_t watched_limit(const struct watched *w);

/* Must the open alert be closed? It must if, according to the store, the agent was seen again, is
 * disabled or is not expected to report. Sightings by this process close it when they are stored
 * (alerts_on_sightings()). */
bool watched_has_recovered(struct watched *w, int64_t wall_us);
