/* silence.c - agents' deadlines, and the jobs that open and close their alerts. */
#include "features/alerts/silence/silence.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/last_seen.h"
#include "features/agents/last_seen_store.h"
#include "features/agents/schedules/schedules.h"
#include "features/alerts/silence/reads.h"
#include "features/alerts/silence/silence_store.h"
#include "features/alerts/silence/silent_alert.h"
#include "features/alerts/silence/watched.h"

enum {
    STEP_S = 2,            /* how far the wall clock may drift from the monotonic one per tick */
    PAUSE_S = 15,          /* without a tick: the process was suspended */
    LAG_S = 5,             /* until another process has stored what it received */
    TRANSITIONS_MAX = 500, /* submitted at a time */
    LOOKS_S = 1            /* of a tick, to look up agents that seem silent */
};

/* A request to the writer to open an agent's alert, or to close it. Each is a job of its own, so
 * that a failure affects no other agent. */
struct silence_transition {
    struct writer_job job;
    struct silence *silence;
    int64_t tenant_id, agent_id;
    struct last_seen_entry *entry;
    struct watched *watched; /* until it is submitted */
    bool opens;
    bool failed; /* set when it is done */
};

/* The clocks and the epoch at a tick, for the jobs that it submits. */
struct silence_moment {
    struct silence_now now;
    int64_t epoch_us;
};

struct silence {
    struct silence_options options;
    struct watched_agents watched;
    size_t next; /* of them, with which the next tick begins */
    struct reads reads;

    bool lost; /* the database, at the last tick */
    int64_t epoch_us;
    int64_t offset_us; /* wall clock minus monotonic clock, at the last tick */
    int64_t tick_us;   /* raw clock, at the last tick */

    /* While transitions are pending these three belong to the writer. */
    struct silence_moment moment;
    struct silence_transition *transitions;
    size_t n_transitions;
    struct lock lock;
    size_t pending GUARDED_BY(lock);       /* transitions submitted and not done */
    struct error failure GUARDED_BY(lock); /* of the first that failed; ERR_NONE: no failure */
};

struct silence *silence_new(const struct silence_options *options, const struct silence_now *now)
{
    struct silence *s = NEW(struct silence);

    s->options = *options;
    reads_init(&s->reads, &(struct reads_options){ options->db, options->last_seen, &s->watched,
                                                   options->portion });
    s->epoch_us = now->mono_us;
    s->offset_us = now->wall_us - now->mono_us;
    s->tick_us = now->raw_us;
    s->transitions = mem_new(TRANSITIONS_MAX * sizeof(*s->transitions));
    lock_init(&s->lock);
    return s;
}

void silence_free(struct silence *s)
{
    if (s == NULL)
        return;
    lock_done(&s->lock);
    free(s->transitions);
    watched_done(&s->watched);
    free(s);
}

int64_t silence_epoch_us(const struct silence *s)
{
    return s->epoch_us;
}

/* Begins a new epoch when reports may have been missed. */
static void note_clocks(struct silence *s, const struct silence_now *now)
{
    int64_t offset = now->wall_us - now->mono_us, moved = offset - s->offset_us;
    bool stepped =
        moved > (int64_t)STEP_S * USEC_PER_SEC || moved < -(int64_t)STEP_S * USEC_PER_SEC;
    bool paused = now->raw_us - s->tick_us > (int64_t)PAUSE_S * USEC_PER_SEC;

    if (stepped || paused || s->lost || !now->healthy) {
        s->epoch_us = now->mono_us;
        reads_begin_again(&s->reads); /* others than by the clock before may be late soon */
    }
    s->lost = !now->healthy;
    s->offset_us = offset;
    s->tick_us = now->raw_us;
}

/* When an agent was last seen, and for how long it has not been, by the monotonic clock. */
struct quiet {
    int64_t seen_at;
    int64_t us;
};

static struct quiet quiet_from(const struct silence *s, int64_t seen_at, int64_t from_us)
{
    int64_t epoch_us = s->moment.epoch_us;

    return (struct quiet){ seen_at,
                           s->moment.now.mono_us - (from_us > epoch_us ? from_us : epoch_us) };
}

/* Uses the later of the stored time and the time seen by this process. A time too far in the future
 * is wrong (our clock was set back, or another process's is ahead) and counts from when it was
 * noticed. */
static struct quiet quiet_time(const struct silence *s, const struct watched *w)
{
    const struct silence_now *now = &s->moment.now;
    const int64_t times[] = { w->row.last_seen_at, last_seen_at_here(w->entry) };
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
    noticed = quiet_from(s, ahead, last_seen_noticed_us(w->entry, ahead, now->mono_us));
    return noticed.us < known.us ? noticed : known;
}

/* Counts from the epoch when that began after the last sign of life; but a time of a cron
 * expression whose grace had not passed by then stays due, with all of its grace from then on. */
static struct deadline deadline_of(const struct silence *s, struct watched *w,
                                   const struct quiet *quiet,
                                   struct deadline (*after)(struct watched *, int64_t, int64_t))
{
    const int64_t now = s->moment.now.wall_us, from = now - quiet->us;
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
    const int64_t now = s->moment.now.wall_us;
    struct deadline d = deadline_of(s, w, quiet, watched_deadline);

    *ret_nearly = now >= d.due_at + (d.silent_at - d.due_at) / 2;
    if (*ret_nearly) {
        d = deadline_of(s, w, quiet, watched_deadline_outside);
        *ret_nearly = now >= d.due_at + (d.silent_at - d.due_at) / 2;
    }
    if (s->options.shared)
        d.silent_at += (int64_t)LAG_S * USEC_PER_SEC;
    return now >= d.silent_at;
}

static void add_transition(struct silence *s, struct watched *w, bool opens)
{
    w->asked = true;
    s->transitions[s->n_transitions++] = (struct silence_transition){ .silence = s,
                                                                      .tenant_id = w->row.tenant_id,
                                                                      .agent_id = w->row.agent_id,
                                                                      .entry = w->entry,
                                                                      .watched = w,
                                                                      .opens = opens };
}

static void judge(struct silence *s, struct watched *w)
{
    struct quiet quiet;
    bool nearly;

    if (w->asked)
        return;
    if (w->open) {
        if (watched_has_recovered(w, s->moment.now.wall_us))
            add_transition(s, w, false);
        return;
    }
    quiet = quiet_time(s, w);
    if (w->row.last_seen_at == TIME_NULL || !schedule_expects(&w->schedule))
        return; /* an agent that was never seen cannot fall silent */
    if (is_silent(s, w, &quiet, &nearly))
        add_transition(s, w, true);
    if (nearly)
        last_seen_await(w->entry);
}

/* Is the agent silent also by what is stored of it now? */
static bool is_still_silent(const struct silence *s, struct watched *w, int64_t seen_at)
{
    struct quiet quiet;
    bool nearly;

    if (seen_at == TIME_NULL || seen_at <= w->row.last_seen_at)
        return true;
    w->row.last_seen_at = seen_at;
    quiet = quiet_time(s, w);
    w->asked = is_silent(s, w, &quiet, &nearly);
    return w->asked;
}

/* Of a large fleet a row may be minutes old, and other processes may have seen the agent since: of
 * the transitions from this one on, keeps those that what is stored by now does not rule out. */
static int drop_seen(struct silence *s, size_t from, struct error *err)
{
    const size_t n = s->n_transitions - from;
    struct silence_transition *t = s->transitions + from;
    struct silent_agent agents[TRANSITIONS_MAX];
    int64_t seen[TRANSITIONS_MAX];

    for (size_t i = 0; i < n; i++)
        agents[i] = (struct silent_agent){ t[i].tenant_id, t[i].agent_id };
    if (n > 0 && store_silence_seen(s->options.db, agents, n, seen, err) != 0)
        return -1;
    s->n_transitions = from;
    for (size_t i = 0; i < n; i++)
        if (!t[i].opens || is_still_silent(s, t[i].watched, seen[i]))
            s->transitions[s->n_transitions++] = t[i];
    return 0;
}

/* Begins with the agent after the last that was judged: those at the end have their turn also when
 * there are too many before them. */
static int collect_transitions(struct silence *s, struct error *err)
{
    const int64_t end_us = clock_raw_us() + (int64_t)LOOKS_S * USEC_PER_SEC;
    size_t left = s->watched.n;

    s->n_transitions = 0;
    while (left > 0 && s->n_transitions < TRANSITIONS_MAX && clock_raw_us() < end_us) {
        const size_t from = s->n_transitions;

        for (; left > 0 && s->n_transitions < TRANSITIONS_MAX; left--) {
            s->next = s->next < s->watched.n ? s->next : 0;
            judge(s, &s->watched.agents[s->next++]);
        }
        if (drop_seen(s, from, err) != 0)
            return -1;
    }
    return 0;
}

/* Decides again, by the locked row and the sightings since the tick. */
static int decide_transition(const struct silence_transition *transition, struct db *db,
                             struct arena *arena, struct error *err)
{
    const struct silence *s = transition->silence;
    const struct silent_change change = { s->moment.now.wall_us, transition->job.txn->notes };
    struct watched w = { .entry = transition->entry };
    struct quiet quiet;
    bool nearly;

    if (store_silence_hold(db, transition->tenant_id, transition->agent_id, arena, &w.row, err) !=
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

/* The next read of the store shows the result, also after a failure. */
static void silence_done(struct writer_job *job, const struct error *err)
{
    struct silence *s = CONTAINER_OF(job, struct silence_transition, job)->silence;

    lock_acquire(&s->lock);
    CONTAINER_OF(job, struct silence_transition, job)->failed = err != NULL;
    if (err != NULL && s->failure.code == ERR_NONE)
        s->failure = *err;
    assert(s->pending > 0);
    s->pending--;
    lock_release(&s->lock);
}

/* Are transitions pending? If not, *ret is the first failure among the last ones. */
static bool is_busy(struct silence *s, struct error *ret)
{
    bool busy;

    lock_acquire(&s->lock);
    busy = s->pending > 0;
    if (!busy) {
        *ret = s->failure;
        s->failure = (struct error){ 0 };
    }
    lock_release(&s->lock);
    return busy;
}

/* Those from this one on were not submitted. */
static void unask(struct silence *s, size_t from)
{
    for (size_t i = from; i < s->n_transitions; i++)
        s->transitions[i].watched->asked = false;
}

static int by_agent(const void *a, const void *b)
{
    const struct silence_transition *x = a, *y = b;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return (x->agent_id > y->agent_id) - (x->agent_id < y->agent_id);
}

/* In the order of their agents, so that all processes lock these in the same order. */
static int submit_transitions(struct silence *s, struct error *err)
{
    size_t n = 0;

    qsort(s->transitions, s->n_transitions, sizeof(*s->transitions), by_agent);

    reads_ask(&s->reads); /* when they are done */
    lock_acquire(&s->lock);
    assert(s->pending == 0 && s->n_transitions <= TRANSITIONS_MAX);
    s->pending = s->n_transitions;
    lock_release(&s->lock);
    for (; n < s->n_transitions; n++) {
        s->transitions[n].job = (struct writer_job){
            .apply = silence_apply, .done = silence_done, .events = 1, .unbounded = true
        };
        if (writer_submit(s->options.writer, &s->transitions[n].job, err) != 0)
            break;
    }
    unask(s, n);
    lock_acquire(&s->lock);
    s->pending -= s->n_transitions - n;
    lock_release(&s->lock);
    return n == s->n_transitions ? 0 : -1;
}

/* Those of the last tick that failed are asked for again. */
static void note_failures(struct silence *s, const struct error *failure)
{
    log_write(LOG_WARNING, "alerts", "an alert could not be opened or closed: %s", failure->text);
    for (size_t i = 0; i < s->n_transitions; i++) {
        const struct silence_transition *t = &s->transitions[i];
        struct watched *w = t->failed ? watched_find(&s->watched, t->tenant_id, t->agent_id) : NULL;

        if (w != NULL)
            w->asked = false;
    }
}

int silence_tick(struct silence *s, const struct silence_now *now, struct error *err)
{
    struct error failure = { 0 };
    int r;

    note_clocks(s, now);
    if (!now->healthy || is_busy(s, &failure))
        return 0;
    if (failure.code != ERR_NONE)
        note_failures(s, &failure);
    if (last_seen_take_changed(s->options.last_seen))
        reads_ask(&s->reads);
    r = reads_tick(&s->reads, now, err);
    if (!reads_are_known(&s->reads))
        return r;
    s->moment = (struct silence_moment){ *now, s->epoch_us };
    if (collect_transitions(s, err) != 0) {
        unask(s, 0);
        return -1;
    }
    return s->n_transitions > 0 && submit_transitions(s, err) != 0 ? -1 : r;
}
