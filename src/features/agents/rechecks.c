/* rechecks.c - the agents that are looked up again, and until when. */
#include "features/agents/rechecks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "features/agents/last_seen.h"

enum {
    AGENTS_MAX = 1024, /* more than that: all agents */
    LONG_S = 120,      /* twice as long as Citus needs to complete a commit */
    SOON_S = 10,       /* all agents: then, for most commits take milliseconds; and after LONG_S */
};

struct recheck {
    int64_t tenant_id, agent_id, until_us;
};

struct rechecks {
    struct lock lock;
    struct recheck agents[AGENTS_MAX] GUARDED_BY(lock); /* in no order */
    size_t n GUARDED_BY(lock);
    int64_t all_soon_us GUARDED_BY(lock); /* when all are; INT64_MAX: never */
    int64_t all_late_us GUARDED_BY(lock); /* the same */

    struct recheck taken[AGENTS_MAX]; /* only the tick uses it */
};

struct rechecks *rechecks_new(void)
{
    struct rechecks *r = NEW(struct rechecks);

    lock_init(&r->lock);
    r->all_soon_us = r->all_late_us = INT64_MAX;
    return r;
}

void rechecks_free(struct rechecks *r)
{
    if (r == NULL)
        return;
    lock_done(&r->lock);
    free(r);
}

static int64_t late(int64_t now_us)
{
    return now_us + (int64_t)LONG_S * USEC_PER_SEC;
}

/* The early look is not put off by those that follow, or it would never come. */
static void add_all(struct rechecks *r, int64_t now_us) REQUIRES(r->lock)
{
    if (r->all_soon_us == INT64_MAX)
        r->all_soon_us = now_us + (int64_t)SOON_S * USEC_PER_SEC;
    r->all_late_us = late(now_us);
}

void rechecks_add(struct rechecks *r, int64_t tenant_id, int64_t agent_id, int64_t now_us)
{
    size_t i = 0;

    lock_acquire(&r->lock);
    while (i < r->n && (r->agents[i].tenant_id != tenant_id || r->agents[i].agent_id != agent_id))
        i++;
    if (i < AGENTS_MAX)
        r->agents[i] = (struct recheck){ tenant_id, agent_id, late(now_us) };
    else
        add_all(r, now_us);
    if (i == r->n && i < AGENTS_MAX)
        r->n++;
    lock_release(&r->lock);
}

void rechecks_add_all(struct rechecks *r, int64_t now_us)
{
    lock_acquire(&r->lock);
    add_all(r, now_us);
    lock_release(&r->lock);
}

static void put_off(struct rechecks *r, int64_t now_us) REQUIRES(r->lock)
{
    for (size_t i = 0; i < r->n; i++)
        r->agents[i].until_us = late(now_us);
    if (r->all_late_us != INT64_MAX)
        r->all_late_us = late(now_us);
}

static void end_old(struct rechecks *r, int64_t now_us) REQUIRES(r->lock)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        if (r->agents[i].until_us > now_us)
            r->agents[n++] = r->agents[i];
    r->n = n;
}

static bool take_due(int64_t *due_us, int64_t now_us)
{
    if (*due_us > now_us)
        return false;
    *due_us = INT64_MAX;
    return true;
}

/* An agent's last look comes after its time is over. */
void rechecks_tick(struct rechecks *r, struct last_seen *last_seen, int64_t now_us, bool healthy)
{
    bool soon, due;
    size_t n;

    lock_acquire(&r->lock);
    if (!healthy)
        put_off(r, now_us);
    soon = take_due(&r->all_soon_us, now_us);
    due = take_due(&r->all_late_us, now_us);
    n = r->n;
    memcpy(r->taken, r->agents, n * sizeof(*r->taken));
    end_old(r, now_us);
    lock_release(&r->lock);
    if (soon || due)
        last_seen_agents_changed(last_seen);
    for (size_t i = 0; i < n; i++)
        last_seen_agent_changed(last_seen, r->taken[i].tenant_id, r->taken[i].agent_id);
}
