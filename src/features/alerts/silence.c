/* silence.c - opens an alert when an agent falls silent, and closes it when it is back.
 *
 * Every second the agents with an expected interval are checked in memory.
 * The rows of those that may be late soon are read from the store every few
 * seconds, and at once when a change is noticed. Deadlines use the monotonic
 * clock and are never earlier than a full interval and grace after the epoch,
 * which begins again after a start, a step of the wall clock, a pause of the
 * process, or an outage of the database.
 *
 * The transaction that opens an alert checks the agent's row once more, under
 * a lock; so several processes open only one.
 */
#include "features/alerts/silence.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/log.h"
#include "base/mem.h"
#include "features/agents/agent_cache.h"
#include "features/alerts/alerts.h"
#include "features/alerts/watch.h"

enum {
    READ_PERIOD_S =
        15, /* between two reads of the agents, or READ_REST times as long as one took */
    READ_REST = 10,
    READ_AHEAD_S = 30,     /* agents that may be late so long after the next read are read, too */
    STEP_S = 2,            /* how far the wall clock may drift from the monotonic one per tick */
    PAUSE_S = 15,          /* without a tick: the process was suspended */
    LAG_S = 5,             /* until another process has stored what it received */
    TRANSITIONS_MAX = 500, /* submitted at a time */
    NAME_BYTES = 200       /* of a name in a sentence */
};

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

/* By the agent's row; the same as `before`, if that is not NULL and its row says the same. */
static void watched_set_schedule(struct watched *w, const struct watched *before)
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

    if (alert_store_silent_near(db, now, until, &arena, &list, err) != 0 ||
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

/* Evaluates a cron expression only if the memo has no result for this last-seen time. */
static struct deadline watched_deadline(struct watched *w, int64_t seen_at, int64_t now)
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

/* The same outside of maintenance; only called when the agent would be late without it. */
static struct deadline watched_deadline_outside(struct watched *w, int64_t seen_at, int64_t now)
{
    if (w->windows.n == 0)
        return watched_deadline(w, seen_at, now);
    if (w->outside.from == TIME_NULL || w->outside.from / USEC_PER_SEC != seen_at / USEC_PER_SEC)
        w->outside =
            (struct memo){ seen_at, seen_at,
                           schedule_deadline_outside(&w->schedule, &w->windows, seen_at, now) };
    return w->outside.deadline;
}

/* The interval in effect, in seconds; 0: by cron. */
static int64_t watched_limit(const struct watched *w)
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

/* Must the open alert be closed? It must if, according to the store, the agent was seen again, is
 * disabled or is not expected to report. Sightings by this process close it when they are stored
 * (silent_alert_on_sightings()). */
static bool watched_has_recovered(struct watched *w, int64_t wall_us)
{
    int64_t seen = w->row.last_seen_at;

    if (!w->row.enabled || !schedule_expects(&w->schedule) || seen == TIME_NULL ||
        sighting_is_later(seen, w->row.since_at, wall_us))
        return true;
    if (!is_changed(w))
        return false; /* even if the wall clock was set back */
    return wall_us < watched_deadline_outside(w, seen, wall_us).silent_at;
}

static struct str detail_of(const struct watched *w, int64_t seen_at, struct arena *arena)
{
    long long grace = (long long)(schedule_grace_us(&w->schedule, seen_at) / USEC_PER_SEC);
    BUF_SCOPED(out, SIZE_MAX); /* bounded: a stored schedule */

    if (w->schedule.kind == SCHEDULE_INTERVAL)
        return arena_printf(arena, "{\"interval_seconds\":%lld,\"grace_seconds\":%lld}",
                            (long long)watched_limit(w), grace);
    buf_add_c(&out, "{\"cron\":");
    buf_add_json(&out, w->row.schedule.cron);
    buf_add_c(&out, ",\"time_zone\":");
    buf_add_json(&out, w->row.schedule.time_zone);
    buf_printf(&out, ",\"grace_seconds\":%lld}", grace);
    return buf_take(&out, arena);
}

static int silent_alert_open(struct txn *txn, const struct watched *w, int64_t now,
                             struct arena *arena, struct error *err)
{
    const struct silence_row *row = &w->row;
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert = { .tenant_id = row->tenant_id,
                               .type = STR_LIT("agent.silent"),
                               .agent_id = row->agent_id,
                               .agent_name = row->agent_name,
                               .subject = STR_LIT(""),
                               .since_at = row->last_seen_at,
                               .opened_at = now,
                               .limit_seconds = { true, watched_limit(w) },
                               .detail = detail_of(w, row->last_seen_at, arena) };
    char text[DATETIME_TEXT_MAX];
    const struct alert_notice notice = {
        &alert, alert.type,
        arena_printf(arena, "Agent '%.*s' is silent: last seen %s", STR_ARG(name),
                     datetime_format_second(row->last_seen_at, text).data)
    };

    return alerts_open(txn, &notice, err);
}

/* The alert's closed_by. */
static struct str close_reason(const struct silence_row *row, int64_t since_at, int64_t now)
{
    if (row->deleted)
        return STR_LIT("deleted");
    if (!row->enabled)
        return STR_LIT("disabled");
    if (row->last_seen_at != TIME_NULL && sighting_is_later(row->last_seen_at, since_at, now))
        return STR_LIT("seen");
    if (row->schedule.paused)
        return STR_LIT("paused");
    return row->schedule.scheduled_at == TIME_NULL ? STR_LIT("interval") : STR_LIT("schedule");
}

/* How long the agent was silent, when it is seen again at `seen_at`. */
static struct opt_int away_seconds(const struct alert_row *row, int64_t seen_at)
{
    int64_t seconds = (seen_at - row->since_at) / USEC_PER_SEC;

    return (struct opt_int){ true, seconds < 0 ? 0 : seconds };
}

/* A close reason for people. */
static const char *reason_text(struct str closed_by)
{
    if (str_eq_c(closed_by, "deleted"))
        return "it was deleted";
    if (str_eq_c(closed_by, "disabled"))
        return "it was disabled";
    if (str_eq_c(closed_by, "paused"))
        return "its schedule was paused";
    return str_eq_c(closed_by, "seen") ? "it was seen again" : "its schedule was changed";
}

static int silent_alert_close(struct txn *txn, const struct silence_row *row, int64_t now,
                              struct arena *arena, struct error *err)
{
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert;
    struct alert_notice notice = { .row = &alert, .message = STR_LIT("agent.recovered") };

    if (alert_store_get(txn->db, row->tenant_id, row->alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = now;
    alert.closed_by = close_reason(row, alert.since_at, alert.closed_at);
    if (str_eq_c(alert.closed_by, "seen"))
        alert.away_seconds = away_seconds(&alert, row->last_seen_at);
    notice.summary = arena_printf(arena, "Agent '%.*s' is no longer silent: %s", STR_ARG(name),
                                  reason_text(alert.closed_by));
    return alerts_close(txn, &notice, err);
}

/* When the alert's agent was seen; TIME_NULL when that was not stored. A linear search suffices:
 * few alerts are open. */
static int64_t seen_time(const struct sighting *sightings, size_t n, const struct alert_row *row)
{
    for (size_t i = 0; i < n; i++)
        if (sightings[i].tenant_id == row->tenant_id && sightings[i].agent_id == row->agent_id)
            return sightings[i].stored ? sightings[i].at : TIME_NULL;
    return TIME_NULL;
}

/* The agent was seen again at this time. */
static int close_seen(struct txn *txn, struct alert_row *row, int64_t at, struct arena *arena,
                      struct error *err)
{
    const struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_notice notice = { .row = row, .message = STR_LIT("agent.recovered") };

    row->closed_at = clock_wall_us();
    row->closed_by = STR_LIT("seen");
    row->away_seconds = away_seconds(row, at);
    notice.summary = arena_printf(arena, "Agent '%.*s' is back after %lld s", STR_ARG(name),
                                  (long long)row->away_seconds.value);
    return alerts_close(txn, &notice, err);
}

int silent_alert_on_sightings(struct txn *txn, const struct sighting *sightings, size_t n,
                              struct error *err)
{
    int64_t now = clock_wall_us();
    ARENA_SCOPED(arena);
    struct list alerts;
    int r;

    r = alert_store_of_sightings(txn->db, sightings, n, &arena, &alerts, err);
    for (size_t i = 0; r == 0 && i < alerts.n; i++) {
        struct alert_row *row = &((struct alert_row *)alerts.items)[i];
        int64_t at = seen_time(sightings, n, row);

        if (at != TIME_NULL && sighting_is_later(at, row->since_at, now))
            r = close_seen(txn, row, at, &arena, err);
    }
    return r;
}

/* A request to the writer to open an agent's alert, or to close it. Each is a job of its own, so
 * that a failure affects no other agent. */
struct silence_transition {
    struct writer_job job;
    struct silence *silence;
    int64_t tenant_id, agent_id;
    struct agent_entry *entry;
    bool opens;
};

struct silence {
    struct watching w;
    struct watched_agents watched;
    size_t next; /* of them, with which the next tick begins */

    bool stale; /* the agents are to be read as soon as rest_until_us has passed */
    int64_t read_us, rest_until_us; /* monotonic: the last read, and none before */
    int64_t rest_us;                /* after the last read */

    bool lost; /* the database, at the last tick */
    int64_t epoch_us;
    int64_t offset_us; /* wall clock minus monotonic clock, at the last tick */
    int64_t tick_us;   /* raw clock, at the last tick */

    /* While transitions are pending these belong to the writer. */
    struct tick now;      /* when they were submitted, … */
    int64_t now_epoch_us; /* … and the epoch at that time */
    struct silence_transition *transitions;
    size_t n_transitions;
    atomic_size_t pending; /* transitions submitted and not done */
};

static void silence_begin(struct watching *w, const struct tick *now)
{
    struct silence *s = CONTAINER_OF(w, struct silence, w);

    s->stale = true;
    s->epoch_us = s->rest_until_us = now->mono_us;
    s->offset_us = now->wall_us - now->mono_us;
    s->tick_us = now->raw_us;
    s->transitions = mem_new(TRANSITIONS_MAX * sizeof(*s->transitions));
}

static void silence_end(struct watching *w)
{
    struct silence *s = CONTAINER_OF(w, struct silence, w);

    free(s->transitions);
    watched_done(&s->watched);
}

int64_t silence_epoch_us(struct watching *w)
{
    return CONTAINER_OF(w, struct silence, w)->epoch_us;
}

/* Begins a new epoch when reports may have been missed. */
static void note_clocks(struct silence *s, const struct tick *now)
{
    int64_t offset = now->wall_us - now->mono_us, moved = offset - s->offset_us;
    bool stepped =
        moved > (int64_t)STEP_S * USEC_PER_SEC || moved < -(int64_t)STEP_S * USEC_PER_SEC;
    bool paused = now->raw_us - s->tick_us > (int64_t)PAUSE_S * USEC_PER_SEC;

    if (stepped || paused || s->lost || !now->healthy) {
        s->epoch_us = s->rest_until_us = now->mono_us;
        s->stale = true; /* other agents may be late soon than by the clock before */
    }
    s->lost = !now->healthy;
    s->offset_us = offset;
    s->tick_us = now->raw_us;
}

/* Agents of all tenants are read, so a rest follows: frequent changes cannot keep the database
 * busy with it. */
static int read_agents(struct silence *s, const struct tick *now, struct error *err)
{
    const int64_t began_us = clock_raw_us(), period_us = (int64_t)READ_PERIOD_S * USEC_PER_SEC;
    const int64_t ahead_us =
        (s->rest_us > period_us ? s->rest_us : period_us) + (int64_t)READ_AHEAD_S * USEC_PER_SEC;
    int r;

    if (now->mono_us < s->rest_until_us || (!s->stale && now->mono_us - s->read_us < period_us))
        return 0;
    r = watched_read(&s->watched, s->w.env.db, now->wall_us, now->wall_us + ahead_us,
                     s->w.env.agents, err);
    s->stale = r != 0;
    s->read_us = now->mono_us;
    s->rest_us = READ_REST * (clock_raw_us() - began_us);
    s->rest_until_us = s->read_us + s->rest_us;
    return r;
}

/* When an agent was last seen, and for how long it has not been, by the monotonic clock. */
struct quiet {
    int64_t seen_at;
    int64_t us;
};

static struct quiet quiet_from(const struct silence *s, int64_t seen_at, int64_t from_us)
{
    int64_t epoch_us = s->now_epoch_us;

    return (struct quiet){ seen_at, s->now.mono_us - (from_us > epoch_us ? from_us : epoch_us) };
}

/* Uses the later of the stored time and the time seen by this process. A time too far in the future
 * is wrong (our clock was set back, or another process's is ahead) and counts from when it was
 * noticed. */
static struct quiet quiet_time(const struct silence *s, const struct watched *w)
{
    const struct tick *now = &s->now;
    const int64_t times[] = { w->row.last_seen_at, agent_entry_seen_at(w->entry) };
    int64_t seen = TIME_NULL, ahead = TIME_NULL; /* TIME_NULL is less than every time */
    struct quiet known = { TIME_NULL, INT64_MAX }, noticed;

    for (size_t i = 0; i < COUNT_OF(times); i++) {
        if (times[i] > now->wall_us + SIGHTING_AHEAD_US)
            ahead = times[i] > ahead ? times[i] : ahead;
        else
            seen = times[i] > seen ? times[i] : seen;
    }
    if (seen != TIME_NULL)
        known = quiet_from(s, seen, now->mono_us - (seen < now->wall_us ? now->wall_us - seen : 0));
    if (ahead == TIME_NULL)
        return known;
    noticed = quiet_from(s, ahead, agent_entry_noticed_us(w->entry, ahead, now->mono_us));
    return noticed.us < known.us ? noticed : known;
}

/* Counts from the epoch when that began after the last sign of life; but a time of a cron
 * expression whose grace had not passed by then stays due, with all of its grace from then on. */
static struct deadline deadline_of(const struct silence *s, struct watched *w,
                                   const struct quiet *quiet,
                                   struct deadline (*after)(struct watched *, int64_t, int64_t))
{
    const int64_t now = s->now.wall_us, from = now - quiet->us;
    struct deadline d;

    if (w->schedule.kind != SCHEDULE_CRON || quiet->seen_at >= from)
        return after(w, from, now);
    d = after(w, quiet->seen_at, now);
    if (d.silent_at <= from)
        return after(w, from, now);
    if (d.due_at <= from)
        d.silent_at = from + (d.silent_at - d.due_at);
    return d;
}

/* Was it not seen when it was expected, nor in its grace? Another process may open the alert before
 * this one reads the store again: *ret_nearly when half of the grace has passed. */
static bool is_silent(const struct silence *s, struct watched *w, const struct quiet *quiet,
                      bool *ret_nearly)
{
    const int64_t now = s->now.wall_us;
    struct deadline d = deadline_of(s, w, quiet, watched_deadline);

    *ret_nearly = now >= d.due_at + (d.silent_at - d.due_at) / 2;
    if (*ret_nearly) {
        d = deadline_of(s, w, quiet, watched_deadline_outside);
        *ret_nearly = now >= d.due_at + (d.silent_at - d.due_at) / 2;
    }
    if (s->w.env.shared)
        d.silent_at += (int64_t)LAG_S * USEC_PER_SEC;
    return now >= d.silent_at;
}

static void add_transition(struct silence *s, struct watched *w, bool opens)
{
    w->submitted = true;
    s->transitions[s->n_transitions++] = (struct silence_transition){ .silence = s,
                                                                      .tenant_id = w->row.tenant_id,
                                                                      .agent_id = w->row.agent_id,
                                                                      .entry = w->entry,
                                                                      .opens = opens };
}

static void judge(struct silence *s, struct watched *w)
{
    struct quiet quiet;
    bool nearly;

    if (w->submitted)
        return;
    if (w->open) {
        if (watched_has_recovered(w, s->now.wall_us))
            add_transition(s, w, false);
        return;
    }
    quiet = quiet_time(s, w);
    if (w->row.last_seen_at == TIME_NULL || !schedule_expects(&w->schedule))
        return; /* an agent that was never seen cannot fall silent */
    if (is_silent(s, w, &quiet, &nearly))
        add_transition(s, w, true);
    if (nearly)
        agent_entry_set_urgent(w->entry);
}

/* In the order of agents, so that all processes lock them in the same one. What is left at
 * TRANSITIONS_MAX comes first at the next tick. */
static void collect_transitions(struct silence *s)
{
    s->n_transitions = 0;
    if (s->next >= s->watched.n)
        s->next = 0;
    while (s->next < s->watched.n && s->n_transitions < TRANSITIONS_MAX)
        judge(s, &s->watched.agents[s->next++]);
}

/* Decides again, by the locked row and the sightings since the tick. */
static int decide_transition(const struct silence_transition *transition, struct txn *txn,
                             struct arena *arena, struct error *err)
{
    const struct silence *s = transition->silence;
    const int64_t now = s->now.wall_us;
    struct watched w = { .entry = transition->entry };
    struct quiet quiet;
    bool nearly;

    if (alert_store_silent_hold(txn->db, transition->tenant_id, transition->agent_id, arena, &w.row,
                                err) != 0)
        return -1;
    w.open = !str_is_null(w.row.alert_id);
    if (w.row.agent_id == 0 || w.open == transition->opens)
        return 0;
    watched_set_schedule(&w, NULL);
    if (schedules_windows(txn->db, w.row.tenant_id, arena, &w.windows, err) != 0)
        return -1;
    w.windows.agent_id = w.row.agent_id;
    if (w.open)
        return watched_has_recovered(&w, now) ? silent_alert_close(txn, &w.row, now, arena, err)
                                              : 0;
    if (!w.row.enabled || !schedule_expects(&w.schedule) || w.row.last_seen_at == TIME_NULL)
        return 0;
    quiet = quiet_time(s, &w);
    if (!is_silent(s, &w, &quiet, &nearly))
        return 0;
    w.row.last_seen_at = quiet.seen_at;
    return silent_alert_open(txn, &w, now, arena, err);
}

static int silence_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct silence_transition *transition = CONTAINER_OF(job, struct silence_transition, job);
    ARENA_SCOPED(arena);

    return decide_transition(transition, txn, &arena, err);
}

/* The next read shows the result, also after a failure. */
static void silence_done(struct writer_job *job, const struct error *err)
{
    struct silence *s = CONTAINER_OF(job, struct silence_transition, job)->silence;

    if (err != NULL)
        log_write(LOG_WARNING, "alerts", "an alert could not be opened or closed: %s", err->text);
    (void)atomic_fetch_sub(&s->pending, 1);
}

static int submit_transitions(struct silence *s, struct error *err)
{
    s->stale = s->stale || s->n_transitions > 0;
    for (size_t i = 0; i < s->n_transitions; i++) {
        s->transitions[i].job = (struct writer_job){
            .apply = silence_apply, .done = silence_done, .events = 1, .unbounded = true
        };
        (void)atomic_fetch_add(&s->pending, 1);
        if (writer_submit(s->w.env.writer, &s->transitions[i].job, err) != 0) {
            (void)atomic_fetch_sub(&s->pending, 1);
            return -1;
        }
    }
    return 0;
}

static int silence_tick(struct watching *w, const struct tick *now, struct error *err)
{
    struct silence *s = CONTAINER_OF(w, struct silence, w);
    int r;

    note_clocks(s, now);
    if (!now->healthy || atomic_load(&s->pending) > 0)
        return 0;
    s->now = *now;
    s->now_epoch_us = s->epoch_us;
    if (agent_cache_take_schedules_changed(s->w.env.agents))
        s->stale = true;
    r = read_agents(s, now, err);
    collect_transitions(s);
    return submit_transitions(s, r == 0 ? err : NULL) != 0 ? -1 : r;
}

const struct watch silence_watch = {
    .name = "silence",
    .size = sizeof(struct silence),
    .begin = silence_begin,
    .tick = silence_tick,
    .end = silence_end,
};
