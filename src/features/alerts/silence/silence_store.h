/* silence_store.h - the facts that decide whether an agent is silent. */
#pragma once
#include "base/err.h"
#include "features/agents/schedules/schedule.h"
#include "shape/shape.h"

struct db;

struct silent_agent {
    int64_t tenant_id, agent_id;
};

struct silence_row {
    int64_t tenant_id, agent_id;
    struct str agent_name; /* of store_silence_hold() only */
    bool enabled;          /* and not deleted */
    bool deleted;
    struct opt_int interval_seconds; /* as the agent declares it */
    struct schedule_row schedule;    /* as people set it */
    int64_t last_seen_at;            /* TIME_NULL: never */
    int64_t muted_until;             /* TIME_NULL: not muted */
    struct str alert_id;             /* of the open alert, or STR_NULL */
    int64_t since_at, opened_at;     /* of that alert */
    struct opt_int limit_seconds;    /* the interval when it was opened; 0 or none: by cron */
};

/* Agents in their order, by tenant and id: all of some tenants, or some of one tenant. */
struct agent_range {
    int64_t first_tenant, last_tenant;
    int64_t after_agent, last_agent; /* 0 and INT64_MAX, unless the tenants are one */
};

struct silence_span {
    int64_t now, until;
    struct agent_range agents;
};

/* Agents of the range that may become late within the span, and those with an open alert: a list of
 * struct silence_row in their order, so that all processes lock them in the same order; in the
 * arena. */
int store_silences(struct db *db, const struct silence_span *span, struct arena *arena,
                   struct list *ret, struct error *err) MUST_CHECK;

/* Those with an open alert: a list of struct silent_agent in the arena. */
int store_silence_open(struct db *db, struct arena *arena, struct list *ret,
                       struct error *err) MUST_CHECK;

/* One agent, locked until the transaction ends so that its last-seen time cannot change meanwhile.
 * agent_id is 0 when there is no such agent. In the arena. */
int store_silence_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                       struct silence_row *ret, struct error *err) MUST_CHECK;

/* When each of these was last seen, as it is stored by now: ret has n times. */
int store_silence_seen(struct db *db, const struct silent_agent *agents, size_t n, int64_t *ret,
                       struct error *err) MUST_CHECK;

/* The tenant of the agent that comes after n others, from this tenant on; INT64_MAX when there are
 * not as many. On Citus by the counts of tenants, about. */
int store_silence_tenant(struct db *db, int64_t tenant_id, int64_t n, int64_t *ret,
                         struct error *err) MUST_CHECK;

/* The n-th agent of a tenant after this one; INT64_MAX when it has fewer. */
int store_silence_nth(struct db *db, const struct silent_agent *after, int64_t n, int64_t *ret,
                      struct error *err) MUST_CHECK;
