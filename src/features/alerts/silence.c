/* silence.c - deadlines of agents, and the job that opens and closes their alerts. */
#include "features/alerts/silence.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/last_seen.h"
#include "features/agents/last_seen_store.h"
#include "features/agents/liveness.h"
#include "features/alerts/alerts.h"
#include "features/alerts/silence_store.h"
#include "shape/utf8.h"

enum {
    READ_PERIOD_S = 15, /* between two looks at the store */
    STEP_S = 2,         /* that the wall clock may stray from the monotonic one in a tick */
    PAUSE_S = 15,       /* without a tick: nobody was listening */
    LAG_S = 5,          /* until what another process heard is surely stored */
    FLIPS_MAX = 500,    /* in one transaction */
    NAME_BYTES = 200    /* of a name in a sentence */
};

/* An agent that something is expected of. */
struct watched {
    struct silence_row row;
    struct last_seen_entry *sighting;
    int64_t interval_us;
};

/* What is asked of the writer: to open an alert, or to close the one that is open. A job of its
 * own, so that one that fails keeps none of the others from their end. */
struct flip {
    struct writer_job job;
    struct silence *silence;
    int64_t tenant_id, agent_id;
    struct last_seen_entry *sighting;
    bool opens;
};

/* By which a look judges. */
struct moment {
    struct silence_now now;
    int64_t epoch_us;
};

struct silence {
    struct silence_options options;
    struct watched *agents;
    size_t n;
    bool loaded;
    int64_t read_us, registry_number; /* of the last look at the store */

    bool lost;
    int64_t epoch_us;
    int64_t apart_us, tick_us; /* wall less monotonic clock, and the raw clock, at the last tick */

    struct moment moment; /* read by the writer while flips are under way, as are those */
    struct flip *flips;
    size_t n_flips;
    struct lock lock;
    size_t under_way GUARDED_BY(lock);     /* flips */
    struct error failure GUARDED_BY(lock); /* of one of them; no code: none */
};

struct silence *silence_new(const struct silence_options *options, const struct silence_now *now)
{
    struct silence *s = NEW(struct silence);

    s->options = *options;
    s->epoch_us = now->mono_us;
    s->apart_us = now->wall_us - now->mono_us;
    s->tick_us = now->raw_us;
    s->flips = mem_new(FLIPS_MAX * sizeof(*s->flips));
    lock_init(&s->lock);
    return s;
}

void silence_free(struct silence *s)
{
    if (s == NULL)
        return;
    lock_done(&s->lock);
    free(s->flips);
    free(s->agents);
    free(s);
}

int64_t silence_epoch_us(const struct silence *s)
{
    return s->epoch_us;
}

/* Has something kept us from hearing? Then everybody has a full allowance from now on. */
static void note_clocks(struct silence *s, const struct silence_now *now)
{
    int64_t apart = now->wall_us - now->mono_us, moved = apart - s->apart_us;
    bool stepped =
        moved > (int64_t)STEP_S * USEC_PER_SEC || moved < -(int64_t)STEP_S * USEC_PER_SEC;
    bool paused = now->raw_us - s->tick_us > (int64_t)PAUSE_S * USEC_PER_SEC;

    if (stepped || paused || s->lost || !now->healthy)
        s->epoch_us = now->mono_us;
    s->lost = !now->healthy;
    s->apart_us = apart;
    s->tick_us = now->raw_us;
}

static int read_agents(struct silence *s, struct error *err)
{
    struct arena arena;
    struct list list;
    int r;

    arena_init(&arena);
    r = store_silences(s->options.db, &arena, &list, err);
    if (r == 0) {
        free(s->agents);
        s->agents = mem_new((list.n + 1) * sizeof(*s->agents));
        s->n = list.n;
    }
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        struct watched *w = &s->agents[i];

        w->row = ((const struct silence_row *)list.items)[i];
        w->row.alert_id = str_is_null(w->row.alert_id) ? STR_NULL : STR_LIT("open");
        w->sighting = last_seen_get(s->options.last_seen, w->row.tenant_id, w->row.agent_id);
        w->interval_us = liveness_interval_us(&w->row.interval_seconds);
        if (!str_is_null(w->row.alert_id))
            last_seen_await(w->sighting);
    }
    arena_done(&arena);
    return r;
}

/* The last sign of an agent, and for how long there was none, by the clock that does not step. */
struct quiet {
    int64_t seen_at;
    int64_t us;
};

static struct quiet since(const struct silence *s, int64_t seen_at, int64_t from_us)
{
    int64_t epoch_us = s->moment.epoch_us;

    return (struct quiet){ seen_at,
                           s->moment.now.mono_us - (from_us > epoch_us ? from_us : epoch_us) };
}

/* From what the store says and what was heard here, whichever is later. The time of a sign that is
 * too far ahead is not to be believed (our clock was set back, or another process's is ahead): it
 * counts from when it was noticed. */
static struct quiet quiet_of(const struct silence *s, const struct watched *w)
{
    const struct silence_now *now = &s->moment.now;
    const int64_t times[] = { w->row.last_seen_at, last_seen_at_here(w->sighting) };
    int64_t seen = TIME_NULL, ahead = TIME_NULL; /* before all others */
    struct quiet known = { TIME_NULL, INT64_MAX }, noticed;

    for (size_t i = 0; i < COUNT_OF(times); i++) {
        if (times[i] > now->wall_us + SIGNS_AHEAD_US)
            ahead = times[i] > ahead ? times[i] : ahead;
        else
            seen = times[i] > seen ? times[i] : seen;
    }
    if (seen != TIME_NULL)
        known = since(s, seen, now->mono_us - (seen < now->wall_us ? now->wall_us - seen : 0));
    if (ahead == TIME_NULL)
        return known;
    noticed = since(s, ahead, last_seen_noticed_us(w->sighting, ahead, now->mono_us));
    return noticed.us < known.us ? noticed : known;
}

/* Is it over? */
static bool is_due(const struct silence *s, const struct watched *w, int64_t quiet_us)
{
    int64_t allowed = w->interval_us + liveness_grace_us(w->interval_us);

    if (s->options.shared)
        allowed += (int64_t)LAG_S * USEC_PER_SEC;
    return quiet_us >= allowed;
}

/* Is it soon? Then another process may think that it is, before we read so. */
static bool is_near(const struct watched *w, int64_t quiet_us)
{
    return quiet_us >= w->interval_us + liveness_grace_us(w->interval_us) / 2;
}

/* Nothing is expected of it any more, or it was heard of, as the store says: what is open is to be
 * closed. What was heard here closes it when it is stored. */
static bool is_over(const struct watched *w, int64_t wall_us)
{
    int64_t seen = w->row.last_seen_at;

    if (!w->row.enabled || w->interval_us == 0 || seen == TIME_NULL ||
        sighting_is_later(seen, w->row.since_at, wall_us))
        return true;
    if (w->row.limit_seconds.value == w->row.interval_seconds.value)
        return false; /* a clock that was set back changes nothing */
    return wall_us - seen < w->interval_us + liveness_grace_us(w->interval_us);
}

static void add_flip(struct silence *s, const struct watched *w, bool opens)
{
    s->flips[s->n_flips++] = (struct flip){ .silence = s,
                                            .tenant_id = w->row.tenant_id,
                                            .agent_id = w->row.agent_id,
                                            .sighting = w->sighting,
                                            .opens = opens };
}

static void collect(struct silence *s)
{
    s->n_flips = 0;
    for (size_t i = 0; i < s->n && s->n_flips < FLIPS_MAX; i++) {
        const struct watched *w = &s->agents[i];
        struct quiet quiet;

        if (!str_is_null(w->row.alert_id)) {
            if (is_over(w, s->moment.now.wall_us))
                add_flip(s, w, false);
            continue;
        }
        quiet = quiet_of(s, w);
        if (w->row.last_seen_at == TIME_NULL)
            continue; /* who was never seen never falls silent; the store knows of it soon */
        if (is_near(w, quiet.us))
            last_seen_await(w->sighting);
        if (is_due(s, w, quiet.us))
            add_flip(s, w, true);
    }
}

static struct str detail_of(const struct silence_row *row, struct arena *arena)
{
    int64_t interval_us = liveness_interval_us(&row->interval_seconds);

    return arena_printf(arena, "{\"interval_seconds\":%lld,\"grace_seconds\":%lld}",
                        (long long)row->interval_seconds.value,
                        (long long)(liveness_grace_us(interval_us) / USEC_PER_SEC));
}

static int open_alert(const struct flip *flip, struct db *db, const struct silence_row *row,
                      struct arena *arena, struct error *err)
{
    int64_t now_us = flip->silence->moment.now.wall_us;
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert = { .tenant_id = row->tenant_id,
                               .type = STR_LIT("agent.silent"),
                               .agent_id = row->agent_id,
                               .agent_name = row->agent_name,
                               .subject = STR_LIT(""),
                               .told = row->muted_until == TIME_NULL || row->muted_until <= now_us,
                               .since_at = row->last_seen_at,
                               .opened_at = now_us,
                               .limit_seconds = row->interval_seconds,
                               .detail = detail_of(row, arena) };
    char text[DATETIME_TEXT_MAX];
    const struct alert_news news = {
        &alert, alert.type,
        arena_printf(arena, "Agent '%.*s' is silent: nothing was heard of it since %s",
                     STR_ARG(name), datetime_format(row->last_seen_at, text).data),
        flip->job.txn->notes
    };
    bool opened;

    return alerts_open(db, &news, &opened, err);
}

static struct str why_over(const struct silence_row *row, int64_t since_at, int64_t now)
{
    if (row->deleted)
        return STR_LIT("deleted");
    if (!row->enabled)
        return STR_LIT("disabled");
    if (row->last_seen_at != TIME_NULL && sighting_is_later(row->last_seen_at, since_at, now))
        return STR_LIT("seen");
    return STR_LIT("interval");
}

static int close_alert(const struct flip *flip, struct db *db, const struct silence_row *row,
                       struct arena *arena, struct error *err)
{
    struct str name = utf8_cut(row->agent_name, NAME_BYTES);
    struct alert_row alert;
    struct alert_news news = { .row = &alert,
                               .message = STR_LIT("agent.recovered"),
                               .notes = flip->job.txn->notes };

    if (store_alert(db, row->tenant_id, row->alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = flip->silence->moment.now.wall_us;
    alert.closed_by = why_over(row, alert.since_at, alert.closed_at);
    if (str_eq_c(alert.closed_by, "seen"))
        alert.away_seconds = alerts_away(&alert, row->last_seen_at);
    news.summary = arena_printf(arena, "The silence of agent '%.*s' is over: %.*s", STR_ARG(name),
                                STR_ARG(alert.closed_by));
    return alerts_close(db, &news, err);
}

/* By the row as it is now, which nobody changes meanwhile, and by what was heard here since. */
static int apply_flip(const struct flip *flip, struct db *db, struct arena *arena,
                      struct error *err)
{
    const struct silence *s = flip->silence;
    struct watched w = { .sighting = flip->sighting };
    struct quiet quiet;
    bool open;

    if (store_silence_hold(db, flip->tenant_id, flip->agent_id, arena, &w.row, err) != 0)
        return -1;
    w.interval_us = liveness_interval_us(&w.row.interval_seconds);
    open = !str_is_null(w.row.alert_id);
    if (w.row.agent_id == 0 || open == flip->opens)
        return 0;
    if (open)
        return is_over(&w, s->moment.now.wall_us) ? close_alert(flip, db, &w.row, arena, err) : 0;
    if (!w.row.enabled || w.interval_us == 0 || w.row.last_seen_at == TIME_NULL)
        return 0;
    quiet = quiet_of(s, &w);
    if (!is_due(s, &w, quiet.us))
        return 0;
    w.row.last_seen_at = quiet.seen_at;
    return open_alert(flip, db, &w.row, arena, err);
}

static int apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct flip *flip = CONTAINER_OF(job, struct flip, job);
    struct arena arena;
    int r;

    arena_init(&arena);
    r = apply_flip(flip, txn->db, &arena, err);
    arena_done(&arena);
    return r;
}

/* What came of it is read with the next look at the store, also when it failed. */
static void done(struct writer_job *job, const struct error *err)
{
    struct silence *s = CONTAINER_OF(job, struct flip, job)->silence;

    lock_acquire(&s->lock);
    if (err != NULL && s->failure.code == ERR_NONE)
        s->failure = *err;
    assert(s->under_way > 0);
    s->under_way--;
    lock_release(&s->lock);
}

/* Are flips under way? If not, *ret is what went wrong with one of the last. */
static bool is_busy(struct silence *s, struct error *ret)
{
    bool busy;

    lock_acquire(&s->lock);
    busy = s->under_way > 0;
    if (!busy) {
        *ret = s->failure;
        s->failure = (struct error){ 0 };
    }
    lock_release(&s->lock);
    return busy;
}

static int submit(struct silence *s, struct error *err)
{
    size_t n = 0;

    s->loaded = false; /* look again when they are done */
    lock_acquire(&s->lock);
    assert(s->under_way == 0 && s->n_flips <= FLIPS_MAX);
    s->under_way = s->n_flips;
    lock_release(&s->lock);
    for (; n < s->n_flips; n++) {
        s->flips[n].job =
            (struct writer_job){ .apply = apply, .done = done, .events = 1, .unbounded = true };
        if (writer_submit(s->options.writer, &s->flips[n].job, err) != 0)
            break;
    }
    lock_acquire(&s->lock);
    s->under_way -= s->n_flips - n;
    lock_release(&s->lock);
    return n == s->n_flips ? 0 : -1;
}

int silence_tick(struct silence *s, const struct silence_now *now, struct error *err)
{
    struct error failure = { 0 };
    bool changed;

    note_clocks(s, now);
    if (!now->healthy || is_busy(s, &failure))
        return 0;
    if (failure.code != ERR_NONE)
        log_write(LOG_WARNING, "alerts", "one did not open or close: %s", failure.text);
    changed =
        last_seen_take_changed(s->options.last_seen) || now->registry_number != s->registry_number;
    if (!s->loaded || changed ||
        now->mono_us - s->read_us >= (int64_t)READ_PERIOD_S * USEC_PER_SEC) {
        s->loaded = false; /* until it is */
        if (read_agents(s, err) != 0)
            return -1;
        s->loaded = true;
        s->read_us = now->mono_us;
        s->registry_number = now->registry_number;
    }
    s->moment = (struct moment){ *now, s->epoch_us };
    collect(s);
    return s->n_flips == 0 ? 0 : submit(s, err);
}
