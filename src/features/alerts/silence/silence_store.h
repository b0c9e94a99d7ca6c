/* silence_store.h - the facts that decide whether an agent is silent, as rows. */
#pragma once
#include "base/err.h"
#include "features/agents/schedules/schedules.h"
#include "shape/shape.h"

struct db;

struct silence_row {
    int64_t tenant_id, agent_id;
    struct str agent_name; /* of silence_store_hold() only */
    bool enabled;          /* and not deleted */
    bool deleted;
    struct opt_int interval_seconds; /* as the agent declares it */
    struct schedule_row schedule;    /* as people set it */
    int64_t last_seen_at;            /* TIME_NULL: never */
    struct str alert_id;             /* of the open alert, or STR_NULL */
    int64_t since_at, opened_at;     /* of that alert */
    struct opt_int limit_seconds;    /* the interval when it was opened; 0 or none: by cron */
};

/* All agents that may become late from now until then, and those with an open alert: a list of
 * struct silence_row by tenant and id, so that all processes lock them in the same order; in the
 * arena. */
int silence_store_near(struct db *db, int64_t now, int64_t until, struct arena *arena,
                       struct list *ret, struct error *err) MUST_CHECK;

/* One agent, locked until the transaction ends so that its last-seen time cannot change meanwhile.
 * agent_id is 0 when there is no such agent. In the arena. */
int silence_store_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                       struct silence_row *ret, struct error *err) MUST_CHECK;
