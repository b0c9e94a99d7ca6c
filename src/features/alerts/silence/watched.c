/* watched.c - reading the agents that may fall silent, and their next deadlines. */
#include "features/alerts/silence/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "features/agents/agent_cache.h"

void watched_done(struct watched_agents *all)
{
    free(all->agents);
    free(all->windows);
}

static int read_windows(struct watched_agents *all, struct db *db, struct arena *arena,
                        struct error *err)
{
    struct windows windows;

    if (schedules_windows(db, SCHEDULES_OF_ALL, arena, &windows, err) != 0)
        return -1;
    free(all->windows);
    all->windows = mem_new((windows.n + 1) * sizeof(*all->windows));
    all->n_windows = windows.n;
    if (windows.n > 0)
        memcpy(all->windows, windows.items, windows.n * sizeof(*all->windows));
    return 0;
}

/* The windows of a tenant; *at grows with the tenants. */
static struct windows windows_of(const struct watched_agents *all, const struct silence_row *row,
                                 size_t *at)
{
    struct windows ret = { .agent_id = row->agent_id };

    while (*at < all->n_windows && all->windows[*at].tenant_id < row->tenant_id)
        (*at)++;
    ret.items = all->windows + *at;
    while (*at + ret.n < all->n_windows && all->windows[*at + ret.n].tenant_id == row->tenant_id)
        ret.n++;
    return ret;
}

static bool is_same_schedule(const struct watched *a, const struct watched *b)
{
    return a->row.schedule.scheduled_at == b->row.schedule.scheduled_at &&
           a->row.interval_seconds.has == b->row.interval_seconds.has &&
           a->row.interval_seconds.value == b->row.interval_seconds.value;
}

void watched_set_schedule(struct watched *w, const struct watched *before)
{
    w->next.from = w->outside.from = TIME_NULL;
    if (before != NULL && is_same_schedule(w, before)) {
        w->schedule = before->schedule;
        w->next = before->next;
        return;
    }
    w->schedule = schedule_of(&w->row.interval_seconds, &w->row.schedule);
}

static bool is_before(const struct silence_row *a, const struct silence_row *b)
{
    return a->tenant_id < b->tenant_id ||
           (a->tenant_id == b->tenant_id && a->agent_id < b->agent_id);
}

/* The agent of that row as it was read before; *at grows with the rows. NULL: it is new. */
static const struct watched *find_before(const struct watched_agents *all,
                                         const struct silence_row *row, size_t *at)
{
    while (*at < all->n && is_before(&all->agents[*at].row, row))
        (*at)++;
    return *at < all->n && !is_before(row, &all->agents[*at].row) ? &all->agents[*at] : NULL;
}

static struct watched watched_of(const struct silence_row *row, const struct watched *before,
                                 struct agent_cache *cache)
{
    struct watched w = { .row = *row,
                         .open = !str_is_null(row->alert_id),
                         .entry = agent_cache_get(cache, row->tenant_id, row->agent_id) };

    watched_set_schedule(&w, before);
    w.row.alert_id = w.row.schedule.cron = w.row.schedule.time_zone =
        STR_NULL; /* they end with the arena */
    if (w.open)
        agent_entry_set_urgent(w.entry);
    return w;
}

int watched_read(struct watched_agents *all, struct db *db, int64_t now, int64_t until,
                 struct agent_cache *cache, struct error *err)
{
    const struct silence_row *rows;
    struct watched *agents;
    size_t before = 0, window = 0;
    ARENA_SCOPED(arena);
    struct list list;

    if (silence_store_near(db, now, until, &arena, &list, err) != 0 ||
        read_windows(all, db, &arena, err) != 0)
        return -1;
    rows = list.items;
    agents = mem_new((list.n + 1) * sizeof(*agents));
    for (size_t i = 0; i < list.n; i++) {
        assert(i == 0 || is_before(&rows[i - 1], &rows[i]));
        agents[i] = watched_of(&rows[i], find_before(all, &rows[i], &before), cache);
        agents[i].windows = windows_of(all, &rows[i], &window);
    }
    free(all->agents);
    all->agents = agents;
    all->n = list.n;
    return 0;
}

/* Evaluates a cron expression only when the last-seen time is not among those of the memo. */
struct deadline watched_deadline(struct watched *w, int64_t seen_at, int64_t now)
{
    const int64_t from = schedule_from(&w->schedule, seen_at, now);
    struct deadline d;

    if (w->schedule.kind == SCHEDULE_CRON && w->next.from != TIME_NULL &&
        (from == w->next.from || (from > w->next.from && from < w->next.until)))
        return w->next.deadline;
    d = schedule_deadline(&w->schedule, seen_at, now);
    w->next = (struct memo){ from, d.due_at - schedule_early_us(&w->schedule, d.due_at), d };
    return d;
}

/* The same outside of maintenance; only asked for when the agent would be late without it. */
struct deadline watched_deadline_outside(struct watched *w, int64_t seen_at, int64_t now)
{
    if (w->windows.n == 0)
        return watched_deadline(w, seen_at, now);
    if (w->outside.from == TIME_NULL || w->outside.from / USEC_PER_SEC != seen_at / USEC_PER_SEC)
        w->outside =
            (struct memo){ seen_at, seen_at,
                           schedule_deadline_outside(&w->schedule, &w->windows, seen_at, now) };
    return w->outside.deadline;
}

int64_t watched_limit(const struct watched *w)
{
    return w->schedule.interval_us / USEC_PER_SEC;
}

/* Was the schedule changed after the alert was opened? */
static bool is_changed(const struct watched *w)
{
    int64_t limit = w->row.limit_seconds.has ? w->row.limit_seconds.value : 0;

    return limit != watched_limit(w) || (w->row.schedule.scheduled_at != TIME_NULL &&
                                         w->row.schedule.scheduled_at > w->row.opened_at);
}

bool watched_has_recovered(struct watched *w, int64_t wall_us)
{
    int64_t seen = w->row.last_seen_at;

    if (!w->row.enabled || !schedule_expects(&w->schedule) || seen == TIME_NULL ||
        sighting_is_later(seen, w->row.since_at, wall_us))
        return true;
    if (!is_changed(w))
        return false; /* even if the wall clock was set back */
    return wall_us < watched_deadline_outside(w, seen, wall_us).silent_at;
}
