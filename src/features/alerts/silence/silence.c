/* silence.c - agents' deadlines, and the jobs that open and close their alerts. */
#include "features/alerts/silence/silence.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/last_seen.h"
#include "features/agents/last_seen_store.h"
#include "features/agents/schedules/schedules.h"
#include "features/alerts/alerts.h"
#include "features/alerts/silence/silence_store.h"
#include "features/alerts/silence/watched.h"
#include "shape/utf8.h"

enum {
    READ_PERIOD_S = 15, /* between two reads of the store, or longer when they take long */
    READ_REST = 10,     /* no read sooner than this many times as long as the last ones took */
    READ_LATE_S = 30,   /* who may be late until a period and this is read: the next may be late */
    STEP_S = 2,         /* how far the wall clock may drift from the monotonic one per tick */
    PAUSE_S = 15,       /* without a tick: the process was suspended */
    LAG_S = 5,          /* until another process has stored what it received */
    TRANSITIONS_MAX = 500, /* submitted at a time */
    NAME_BYTES = 200       /* of a name in a sentence */
};

/* A request to the writer to open an agent's alert, or to close it. Each is a job of its own, so
 * that a failure affects no other agent. */
struct silence_transition {
    struct writer_job job;
    struct silence *silence;
    int64_t tenant_id, agent_id;
    struct last_seen_entry *entry;
    bool opens;
};

/* The clocks and the epoch at a tick, for the jobs that it submits. */
struct silence_moment {
    struct silence_now now;
    int64_t epoch_us;
};

struct silence {
    struct silence_options options;
    struct watched_agents watched;
    bool loaded;                /* false: nothing is judged before the next read */
    bool stale;                 /* something was changed since the last read */
    bool failed;                /* the last read of the store */
    int64_t read_us, took_us;   /* it began and took, by the monotonic and the raw clock */
    int64_t rest_us, period_us; /* until the next one: at least, at most */

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
        s->loaded = false; /* others than by the clock before may be late soon */
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
                                                                      .opens = opens };
}

static void collect_transitions(struct silence *s)
{
    s->n_transitions = 0;
    for (size_t i = 0; i < s->watched.n && s->n_transitions < TRANSITIONS_MAX; i++) {
        struct watched *w = &s->watched.agents[i];
        struct quiet quiet;
        bool nearly;

        if (w->asked)
            continue;
        if (w->open) {
            if (watched_has_recovered(w, s->moment.now.wall_us))
                add_transition(s, w, false);
            continue;
        }
        quiet = quiet_time(s, w);
        if (w->row.last_seen_at == TIME_NULL || !schedule_expects(&w->schedule))
            continue; /* an agent that was never seen cannot fall silent */
        if (is_silent(s, w, &quiet, &nearly))
            add_transition(s, w, true);
        if (nearly)
            last_seen_await(w->entry);
    }
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

static int open_alert(const struct silence_transition *transition, struct db *db,
                      const struct watched *w, struct arena *arena, struct error *err)
{
    const struct silence_row *row = &w->row;
    int64_t now_us = transition->silence->moment.now.wall_us;
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert = { .tenant_id = row->tenant_id,
                               .type = STR_LIT("agent.silent"),
                               .agent_id = row->agent_id,
                               .agent_name = row->agent_name,
                               .subject = STR_LIT(""),
                               .notified =
                                   row->muted_until == TIME_NULL || row->muted_until <= now_us,
                               .since_at = row->last_seen_at,
                               .opened_at = now_us,
                               .limit_seconds = { true, watched_limit(w) },
                               .detail = detail_of(w, row->last_seen_at, arena) };
    char text[DATETIME_TEXT_MAX];
    const struct alert_notice notice = {
        &alert, alert.type,
        arena_printf(arena, "Agent '%.*s' is silent: last seen %s", STR_ARG(name),
                     datetime_format_second(row->last_seen_at, text).data),
        transition->job.txn->notes
    };
    bool opened;

    return alerts_open(db, &notice, &opened, err);
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

static int close_alert(const struct silence_transition *transition, struct db *db,
                       const struct silence_row *row, struct arena *arena, struct error *err)
{
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert;
    struct alert_notice notice = { .row = &alert,
                                   .message = STR_LIT("agent.recovered"),
                                   .notes = transition->job.txn->notes };

    if (store_alert(db, row->tenant_id, row->alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = transition->silence->moment.now.wall_us;
    alert.closed_by = close_reason(row, alert.since_at, alert.closed_at);
    if (str_eq_c(alert.closed_by, "seen"))
        alert.away_seconds = alerts_away(&alert, row->last_seen_at);
    notice.summary = arena_printf(arena, "Agent '%.*s' is no longer silent: %s", STR_ARG(name),
                                  reason_text(alert.closed_by));
    return alerts_close(db, &notice, err);
}

/* Decides again, by the locked row and the sightings since the tick. */
static int decide_transition(const struct silence_transition *transition, struct db *db,
                             struct arena *arena, struct error *err)
{
    const struct silence *s = transition->silence;
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
        return watched_has_recovered(&w, s->moment.now.wall_us)
                   ? close_alert(transition, db, &w.row, arena, err)
                   : 0;
    if (!w.row.enabled || !schedule_expects(&w.schedule) || w.row.last_seen_at == TIME_NULL)
        return 0;
    quiet = quiet_time(s, &w);
    if (!is_silent(s, &w, &quiet, &nearly))
        return 0;
    w.row.last_seen_at = quiet.seen_at;
    return open_alert(transition, db, &w, arena, err);
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

static int submit_transitions(struct silence *s, struct error *err)
{
    size_t n = 0;

    s->stale = true; /* read the store again when they are done */
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
    lock_acquire(&s->lock);
    s->pending -= s->n_transitions - n;
    lock_release(&s->lock);
    return n == s->n_transitions ? 0 : -1;
}

/* A read looks at all agents of all tenants, so each is followed by a rest: frequent changes cannot
 * keep the database busy with reads. */
static bool is_read_due(const struct silence *s, const struct silence_now *now)
{
    const int64_t since_us = now->mono_us - s->read_us;

    if (s->failed)
        return since_us >= s->rest_us;
    if (!s->loaded || since_us >= s->period_us)
        return true;
    return s->stale && since_us >= s->rest_us;
}

/* How long the next one waits at least. One may have been unlucky: of two the faster counts. */
static void note_read(struct silence *s, bool failed, int64_t took_us)
{
    const bool unlucky = !failed && took_us > s->took_us;

    s->failed = failed;
    s->rest_us = READ_REST * (unlucky ? s->took_us : took_us);
    s->took_us = failed ? 0 : took_us;
}

static int read_watched(struct silence *s, const struct silence_now *now, struct error *err)
{
    const int64_t least_us = (int64_t)READ_PERIOD_S * USEC_PER_SEC, began_us = clock_raw_us();
    const int64_t period_us = !s->failed && s->rest_us > least_us ? s->rest_us : least_us;
    const struct silence_span span = { now->wall_us, now->wall_us + period_us +
                                                         (int64_t)READ_LATE_S * USEC_PER_SEC };
    const int r = watched_read(&s->watched, s->options.db, &span, s->options.last_seen, err);

    note_read(s, r != 0, clock_raw_us() - began_us);
    s->loaded = r == 0;
    s->stale = s->stale && r != 0;
    s->read_us = now->mono_us;
    s->period_us = period_us;
    return r;
}

int silence_tick(struct silence *s, const struct silence_now *now, struct error *err)
{
    struct error failure = { 0 };

    note_clocks(s, now);
    if (!now->healthy || is_busy(s, &failure))
        return 0;
    if (failure.code != ERR_NONE)
        log_write(LOG_WARNING, "alerts", "an alert could not be opened or closed: %s",
                  failure.text);
    if (last_seen_take_changed(s->options.last_seen))
        s->stale = true;
    if (is_read_due(s, now) && read_watched(s, now, err) != 0)
        return -1;
    if (!s->loaded)
        return 0;
    s->moment = (struct silence_moment){ *now, s->epoch_us };
    collect_transitions(s);
    return s->n_transitions == 0 ? 0 : submit_transitions(s, err);
}
