/* watched.c - reading the agents that may fall silent, and their next deadlines. */
#include "features/alerts/silence/watched.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "features/agents/last_seen.h"
#include "features/agents/last_seen_store.h"
#include "features/agents/schedules/store.h"

void watched_done(struct watched_agents *all)
{
    free(all->agents);
    free(all->windows);
}

static int read_windows(struct watched_agents *all, struct db *db, struct arena *arena,
                        struct error *err)
{
    const struct window_row *rows;
    struct list list;

    if (store_windows_all(db, arena, &list, err) != 0)
        return -1;
    rows = list.items;
    free(all->windows);
    all->windows = mem_new((list.n + 1) * sizeof(*all->windows));
    all->n_windows = list.n;
    for (size_t i = 0; i < list.n; i++)
        all->windows[i] = window_of(&rows[i]);
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

static bool is_after(const struct silence_row *row, int64_t tenant_id, int64_t agent_id)
{
    return row->tenant_id > tenant_id || (row->tenant_id == tenant_id && row->agent_id > agent_id);
}

/* The agent of that row as it was read before; *at grows with the rows. NULL: it is new. */
static const struct watched *find_before(const struct watched_agents *all,
                                         const struct silence_row *row, size_t *at)
{
    for (; *at < all->n; (*at)++) {
        const struct silence_row *old = &all->agents[*at].row;

        if (old->tenant_id == row->tenant_id && old->agent_id == row->agent_id)
            return &all->agents[*at];
        if (is_after(old, row->tenant_id, row->agent_id))
            return NULL;
    }
    return NULL;
}

void watched_clear(struct watched_agents *all)
{
    all->n = 0;
}

/* How many of them come until this agent, and with it. */
static size_t count_until(const struct watched_agents *all, int64_t tenant_id, int64_t agent_id)
{
    size_t low = 0, high = all->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (is_after(&all->agents[middle].row, tenant_id, agent_id))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct watched *watched_find(const struct watched_agents *all, int64_t tenant_id, int64_t agent_id)
{
    const size_t n = count_until(all, tenant_id, agent_id);
    struct watched *w = n == 0 ? NULL : &all->agents[n - 1];

    return w != NULL && w->row.tenant_id == tenant_id && w->row.agent_id == agent_id ? w : NULL;
}

static void take_row(struct watched *w, const struct silence_row *row, const struct watched *before,
                     struct last_seen *last_seen)
{
    *w = (struct watched){ .row = *row,
                           .open = !str_is_null(row->alert_id),
                           .entry = last_seen_get(last_seen, row->tenant_id, row->agent_id) };
    watched_set_schedule(w, before);
    w->row.alert_id = w->row.schedule.cron = w->row.schedule.time_zone =
        STR_NULL; /* they end with the arena */
    if (w->open)
        last_seen_await(w->entry);
}

static void take_agents(struct watched_agents *all, struct last_seen *last_seen,
                        const struct agent_range *range, const struct list *list)
{
    const size_t first = count_until(all, range->first_tenant, range->after_agent);
    const size_t end = count_until(all, range->last_tenant, range->last_agent);
    struct watched *agents = mem_new((all->n + list->n + 1) * sizeof(*agents));
    const struct silence_row *rows = list->items;
    size_t before = first, n = 0;

    assert(first <= end);
    for (size_t i = 0; i < first; i++)
        agents[n++] = all->agents[i];
    for (size_t i = 0; i < list->n; i++) {
        assert(is_after(&rows[i], range->first_tenant, range->after_agent) &&
               !is_after(&rows[i], range->last_tenant, range->last_agent) &&
               (i == 0 || is_after(&rows[i], rows[i - 1].tenant_id, rows[i - 1].agent_id)));
        take_row(&agents[n++], &rows[i], find_before(all, &rows[i], &before), last_seen);
    }
    for (size_t i = end; i < all->n; i++)
        agents[n++] = all->agents[i];
    free(all->agents);
    all->agents = agents;
    all->n = n;
}

/* Of all agents: windows are read as a whole. */
static void take_windows(struct watched_agents *all)
{
    size_t window = 0;

    for (size_t i = 0; i < all->n; i++) {
        all->agents[i].windows = windows_of(all, &all->agents[i].row, &window);
        all->agents[i].outside.from = TIME_NULL;
    }
}

int watched_read(struct watched_agents *all, struct db *db, const struct silence_span *span,
                 struct last_seen *last_seen, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list list;

    if (store_silences(db, span, &arena, &list, err) != 0 ||
        read_windows(all, db, &arena, err) != 0)
        return -1;
    take_agents(all, last_seen, &span->agents, &list);
    take_windows(all);
    return 0;
}

int watched_await_silent(struct db *db, struct last_seen *last_seen, struct error *err)
{
    ARENA_SCOPED(arena);
    const struct silent_agent *silent;
    struct list list;

    if (store_silence_open(db, &arena, &list, err) != 0)
        return -1;
    silent = list.items;
    for (size_t i = 0; i < list.n; i++)
        last_seen_await(last_seen_get(last_seen, silent[i].tenant_id, silent[i].agent_id));
    return 0;
}

/* Evaluates a cron expression only when the last sign of life is not among those of the memo. */
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
