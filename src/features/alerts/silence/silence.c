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
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/agent_cache.h"
#include "features/agents/schedules/schedules.h"
#include "features/alerts/alerts.h"
#include "features/alerts/silence/silence_store.h"
#include "features/alerts/silence/silent_alert.h"
#include "features/alerts/silence/watched.h"
#include "features/alerts/watch.h"

enum {
    READ_PERIOD_S =
        15, /* between two reads of the agents, or READ_REST times as long as one took */
    READ_REST = 10,
    READ_AHEAD_S = 30,    /* agents that may be late so long after the next read are read, too */
    STEP_S = 2,           /* how far the wall clock may drift from the monotonic one per tick */
    PAUSE_S = 15,         /* without a tick: the process was suspended */
    LAG_S = 5,            /* until another process has stored what it received */
    TRANSITIONS_MAX = 500 /* submitted at a time */
};

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
    struct watch_env env;
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

static void *silence_begin(const struct watch_env *env, const struct tick *now)
{
    struct silence *s = NEW(struct silence);

    s->env = *env;
    s->stale = true;
    s->epoch_us = s->rest_until_us = now->mono_us;
    s->offset_us = now->wall_us - now->mono_us;
    s->tick_us = now->raw_us;
    s->transitions = mem_new(TRANSITIONS_MAX * sizeof(*s->transitions));
    return s;
}

static void silence_end(void *state)
{
    struct silence *s = state;

    if (s == NULL)
        return;
    free(s->transitions);
    watched_done(&s->watched);
    free(s);
}

int64_t silence_epoch_us(const void *state)
{
    const struct silence *s = state;

    return s->epoch_us;
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
    r = watched_read(&s->watched, s->env.db, now->wall_us, now->wall_us + ahead_us, s->env.agents,
                     err);
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
    if (s->env.shared)
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
static int decide_transition(const struct silence_transition *transition, struct db *db,
                             struct arena *arena, struct error *err)
{
    const struct silence *s = transition->silence;
    const struct silent_change change = { s->now.wall_us, alert_notes_of(transition->job.txn) };
    struct watched w = { .entry = transition->entry };
    struct quiet quiet;
    bool nearly;

    if (silence_store_hold(db, transition->tenant_id, transition->agent_id, arena, &w.row, err) !=
        0)
        return -1;
    w.open = !str_is_null(w.row.alert_id);
    if (w.row.agent_id == 0 || w.open == transition->opens)
        return 0;
    watched_set_schedule(&w, NULL);
    if (schedules_windows(db, w.row.tenant_id, arena, &w.windows, err) != 0)
        return -1;
    w.windows.agent_id = w.row.agent_id;
    if (w.open)
        return watched_has_recovered(&w, change.at)
                   ? silent_alert_close(db, &w.row, &change, arena, err)
                   : 0;
    if (!w.row.enabled || !schedule_expects(&w.schedule) || w.row.last_seen_at == TIME_NULL)
        return 0;
    quiet = quiet_time(s, &w);
    if (!is_silent(s, &w, &quiet, &nearly))
        return 0;
    w.row.last_seen_at = quiet.seen_at;
    return silent_alert_open(db, &w, &change, arena, err);
}

static int silence_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct silence_transition *transition = CONTAINER_OF(job, struct silence_transition, job);
    ARENA_SCOPED(arena);

    return decide_transition(transition, txn->db, &arena, err);
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
        if (writer_submit(s->env.writer, &s->transitions[i].job, err) != 0) {
            (void)atomic_fetch_sub(&s->pending, 1);
            return -1;
        }
    }
    return 0;
}

static int silence_tick(void *state, const struct tick *now, int64_t epoch_us, struct error *err)
{
    struct silence *s = state;
    int r;

    (void)epoch_us; /* which this watch decides */
    note_clocks(s, now);
    if (!now->healthy || atomic_load(&s->pending) > 0)
        return 0;
    s->now = *now;
    s->now_epoch_us = s->epoch_us;
    if (agent_cache_take_schedules_changed(s->env.agents))
        s->stale = true;
    r = read_agents(s, now, err);
    collect_transitions(s);
    return submit_transitions(s, r == 0 ? err : NULL) != 0 ? -1 : r;
}

const struct watch silence_watch = {
    .name = "silence",
    .without_database = true,
    .begin = silence_begin,
    .tick = silence_tick,
    .end = silence_end,
};
