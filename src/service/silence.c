/* silence.c - deadlines of agents, and the job that opens and closes their alerts. */
#include "service/silence.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/mem.h"
#include "service/alerts.h"
#include "service/ingest.h"
#include "service/life.h"
#include "service/liveness.h"
#include "service/writer.h"
#include "store/signs.h"
#include "store/silences.h"

enum {
    READ_PERIOD_S = 15, /* between two looks at the store */
    STEP_S = 2,         /* that the wall clock may stray from the monotonic one in a tick */
    PAUSE_S = 15,       /* without a tick: nobody was listening */
    LAG_S = 5,          /* until what another process heard is surely stored */
    FLIPS_MAX = 500     /* in one transaction */
};

/* An agent that something is expected of. */
struct watched {
    struct silence_row row;
    struct life_sign *sign;
    int64_t interval_us;
    bool tried;        /* to open or close its alert, */
    int64_t tried_for; /* when this was its last sign of life */
};

/* What is asked of the writer: to open an alert, or to close the one that is open. */
struct flip {
    int64_t tenant_id, agent_id;
    bool opens;
    int64_t seen_at;
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

    struct writer_job job; /* the writer's while `busy`, as are the flips */
    struct flip *flips;
    size_t n_flips;
    int64_t now_us;
    struct alert_notes *notes; /* of the transaction */
    pthread_mutex_t lock;      /* guards busy */
    bool busy;
};

struct silence *silence_new(const struct silence_options *options, const struct silence_now *now)
{
    struct silence *s = NEW(struct silence);

    s->options = *options;
    s->epoch_us = now->mono_us;
    s->apart_us = now->wall_us - now->mono_us;
    s->tick_us = now->raw_us;
    s->flips = mem_new(FLIPS_MAX * sizeof(*s->flips));
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void silence_free(struct silence *s)
{
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->lock);
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
        w->sign = life_of(s->options.life, w->row.tenant_id, w->row.agent_id);
        w->interval_us = liveness_interval_us(&w->row.interval_seconds);
        w->tried = false;
        if (!str_is_null(w->row.alert_id))
            life_await(w->sign);
    }
    arena_done(&arena);
    return r;
}

/* When the agent was last heard of, here or by what the store says. */
static int64_t seen_at(const struct watched *w)
{
    return life_later(w->sign, w->row.last_seen_at);
}

/* Is it over, by the clock that does not step? */
static bool is_due(const struct silence *s, const struct watched *w, int64_t seen,
                   const struct silence_now *now)
{
    int64_t age = now->wall_us - seen;
    int64_t from = age < 0 ? now->mono_us : now->mono_us - age;
    int64_t allowed = w->interval_us + liveness_grace_us(w->interval_us);

    if (from < s->epoch_us || age < -SIGNS_AHEAD_US) /* the clock was set back since */
        from = s->epoch_us;
    if (s->options.shared)
        allowed += (int64_t)LAG_S * USEC_PER_SEC;
    return now->mono_us - from >= allowed;
}

/* Nothing is expected of it any more, or it was heard of: what is open is to be closed. */
static bool is_over(const struct watched *w, int64_t seen, int64_t wall_us)
{
    if (!w->row.enabled || w->interval_us == 0 || seen == TIME_NULL ||
        sign_is_later(seen, w->row.since_at))
        return true;
    if (w->row.limit_seconds.value == w->row.interval_seconds.value)
        return false; /* a clock that was set back changes nothing */
    return wall_us - seen < w->interval_us + liveness_grace_us(w->interval_us);
}

static void collect(struct silence *s, const struct silence_now *now)
{
    s->n_flips = 0;
    for (size_t i = 0; i < s->n && s->n_flips < FLIPS_MAX; i++) {
        struct watched *w = &s->agents[i];
        bool open = !str_is_null(w->row.alert_id);
        int64_t seen = seen_at(w);

        if (w->tried && seen == w->tried_for)
            continue;
        if (open ? !is_over(w, seen, now->wall_us) : !is_due(s, w, seen, now))
            continue;
        w->tried = true;
        w->tried_for = seen;
        if (!open)
            life_await(w->sign);
        s->flips[s->n_flips++] = (struct flip){ w->row.tenant_id, w->row.agent_id, !open, seen };
    }
}

static struct str detail_of(const struct silence_row *row, struct arena *arena)
{
    int64_t interval_us = liveness_interval_us(&row->interval_seconds);

    return arena_printf(arena, "{\"interval_seconds\":%lld,\"grace_seconds\":%lld}",
                        (long long)row->interval_seconds.value,
                        (long long)(liveness_grace_us(interval_us) / USEC_PER_SEC));
}

static int open_alert(struct silence *s, struct db *db, const struct silence_row *row,
                      struct arena *arena, struct error *err)
{
    struct alert_row alert = { .tenant_id = row->tenant_id,
                               .type = STR_LIT("agent.silent"),
                               .agent_id = row->agent_id,
                               .agent_name = row->agent_name,
                               .subject = STR_LIT(""),
                               .told =
                                   row->muted_until == TIME_NULL || row->muted_until <= s->now_us,
                               .since_at = row->last_seen_at,
                               .opened_at = s->now_us,
                               .limit_seconds = row->interval_seconds,
                               .detail = detail_of(row, arena) };
    char text[DATETIME_TEXT_MAX];
    const struct alert_news news = {
        &alert, alert.type,
        arena_printf(arena, "Agent '%.200s' is silent: nothing was heard of it since %s",
                     arena_cstr(arena, row->agent_name),
                     datetime_format(row->last_seen_at, text).data),
        s->notes
    };
    bool opened;

    return alerts_open(db, &news, &opened, err);
}

static struct str why_over(const struct silence_row *row, int64_t since_at)
{
    if (row->deleted)
        return STR_LIT("deleted");
    if (!row->enabled)
        return STR_LIT("disabled");
    if (row->last_seen_at != TIME_NULL && sign_is_later(row->last_seen_at, since_at))
        return STR_LIT("seen");
    return STR_LIT("interval");
}

static int close_alert(struct silence *s, struct db *db, const struct silence_row *row,
                       struct arena *arena, struct error *err)
{
    struct alert_row alert;
    struct alert_news news = { .row = &alert,
                               .message = STR_LIT("agent.recovered"),
                               .notes = s->notes };

    if (store_alert(db, row->tenant_id, row->alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = s->now_us;
    alert.closed_by = why_over(row, alert.since_at);
    if (str_eq_c(alert.closed_by, "seen")) {
        alert.away_seconds = alerts_away(&alert, row->last_seen_at);
    }
    news.summary = arena_printf(arena, "The silence of agent '%.200s' is over: %.*s",
                                arena_cstr(arena, row->agent_name), STR_ARG(alert.closed_by));
    return alerts_close(db, &news, err);
}

/* By the row as it is now, which nobody changes meanwhile. */
static int apply_flip(struct silence *s, struct db *db, const struct flip *flip,
                      struct arena *arena, struct error *err)
{
    struct watched w = { 0 };
    bool open;

    if (store_silence_hold(db, flip->tenant_id, flip->agent_id, arena, &w.row, err) != 0)
        return -1;
    w.interval_us = liveness_interval_us(&w.row.interval_seconds);
    open = !str_is_null(w.row.alert_id);
    if (w.row.agent_id == 0 || open == flip->opens)
        return 0;
    if (open)
        return is_over(&w, w.row.last_seen_at, s->now_us) ? close_alert(s, db, &w.row, arena, err)
                                                          : 0;
    if (!w.row.enabled || w.interval_us == 0 || w.row.last_seen_at == TIME_NULL ||
        w.row.last_seen_at > flip->seen_at)
        return 0;
    w.row.last_seen_at = flip->seen_at;
    return open_alert(s, db, &w.row, arena, err);
}

static int apply(struct writer_job *job, struct db *db, struct error *err)
{
    struct silence *s = CONTAINER_OF(job, struct silence, job);
    struct arena arena;
    int r = 0;

    s->notes = ingest_notes_of(job);
    arena_init(&arena);
    for (size_t i = 0; r == 0 && i < s->n_flips; i++) {
        r = apply_flip(s, db, &s->flips[i], &arena, err);
        arena_reset(&arena);
    }
    arena_done(&arena);
    return r;
}

static void set_busy(struct silence *s, bool busy)
{
    pthread_mutex_lock(&s->lock);
    s->busy = busy;
    pthread_mutex_unlock(&s->lock);
}

/* What came of it is read with the next look at the store, also when it failed. */
static void done(struct writer_job *job, const struct error *err)
{
    (void)err;
    set_busy(CONTAINER_OF(job, struct silence, job), false);
}

static bool is_busy(struct silence *s)
{
    bool busy;

    pthread_mutex_lock(&s->lock);
    busy = s->busy;
    pthread_mutex_unlock(&s->lock);
    return busy;
}

int silence_tick(struct silence *s, const struct silence_now *now, struct error *err)
{
    bool changed;

    note_clocks(s, now);
    if (!now->healthy || is_busy(s))
        return 0;
    changed = life_take_changed(s->options.life) || now->registry_number != s->registry_number;
    if (!s->loaded || changed ||
        now->raw_us - s->read_us >= (int64_t)READ_PERIOD_S * USEC_PER_SEC) {
        s->loaded = false; /* until it is */
        if (read_agents(s, err) != 0)
            return -1;
        s->loaded = true;
        s->read_us = now->raw_us;
        s->registry_number = now->registry_number;
    }
    collect(s, now);
    if (s->n_flips == 0)
        return 0;
    s->loaded = false; /* look again when they are done */
    s->now_us = now->wall_us;
    s->job =
        (struct writer_job){ .apply = apply, .done = done, .events = s->n_flips, .always = true };
    set_busy(s, true);
    if (writer_submit(s->options.writer, &s->job, err) == 0)
        return 0;
    set_busy(s, false);
    return -1;
}
