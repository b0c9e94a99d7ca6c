/* stuck.c - runs that stay open, and the job that opens and closes their alerts. */
#include "service/stuck.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/mem.h"
#include "service/alerts.h"
#include "service/ingest.h"
#include "service/writer.h"
#include "store/fleet.h"
#include "store/stuck.h"

enum {
    PERIOD_S = 60,      /* between two looks */
    REST_S = 600,       /* after we began to listen */
    MARK_S = 600,       /* that a mark may lag behind */
    LEAST_S = 86400,    /* that a run may take */
    BACK_S = 2 * 86400, /* looked back at where there is no mark yet */
    TIMES_MEDIAN = 5,
    MEDIAN_RUNS = 100,
    RUNS_MAX = 200,    /* in one look */
    OPEN_MAX = 20,     /* alerts of one agent */
    TENANTS_MAX = 5000 /* marks written in one look */
};

/* What is asked of the writer for a run. */
struct act {
    int64_t tenant_id, run_no;
    int64_t limit_us; /* that it passed; 0: it is over */
    int64_t due_at;   /* TIME_NULL: now */
};

struct stuck {
    struct stuck_options options;
    int64_t looked_us; /* monotonic */
    int64_t wall_us,
        began_us; /* both clocks at the begin: the wall clock may step, this does not */

    struct writer_job job; /* the writer's while `busy`, as is what follows */
    struct act acts[2 * RUNS_MAX];
    size_t n_acts;
    struct stuck_tenant *marks;
    size_t n_marks;
    int64_t now_us;
    struct alert_notes *notes; /* of the transaction */
    pthread_mutex_t lock;      /* guards busy */
    bool busy;
};

struct stuck *stuck_new(const struct stuck_options *options, int64_t wall_us, int64_t mono_us)
{
    struct stuck *s = NEW(struct stuck);

    s->options = *options;
    s->wall_us = wall_us;
    s->began_us = s->looked_us = mono_us;
    s->marks = mem_new(TENANTS_MAX * sizeof(*s->marks));
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void stuck_free(struct stuck *s)
{
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s->marks);
    free(s);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* How long a run of this agent may take. */
static int limit_of(struct stuck *s, const struct stuck_run *run, struct arena *arena, int64_t *ret,
                    struct error *err)
{
    const struct fleet_place place = { run->tenant_id, run->agent_id };
    int64_t durations[MEDIAN_RUNS];
    const struct fleet_run *runs;
    struct list list;
    size_t n = 0;

    if (store_fleet_runs(s->options.db, &place, MEDIAN_RUNS, arena, &list, err) != 0)
        return -1;
    runs = list.items;
    for (size_t i = 0; i < list.n; i++)
        if (runs[i].duration_ms.has)
            durations[n++] = runs[i].duration_ms.value;
    *ret = (int64_t)LEAST_S * USEC_PER_SEC;
    if (n == 0)
        return 0;
    qsort(durations, n, sizeof(*durations), by_value);
    if (durations[(n - 1) / 2] > *ret / TIMES_MEDIAN / USEC_PER_MSEC &&
        durations[(n - 1) / 2] < INT64_MAX / TIMES_MEDIAN / USEC_PER_MSEC)
        *ret = durations[(n - 1) / 2] * TIMES_MEDIAN * USEC_PER_MSEC;
    return 0;
}

static int add_acts(struct stuck *s, const struct list *list, struct arena *arena,
                    struct error *err)
{
    const struct stuck_run *runs = list->items;

    for (size_t i = 0; i < list->n && s->n_acts < COUNT_OF(s->acts); i++) {
        struct act act = { runs[i].tenant_id, runs[i].run_no, 0, TIME_NULL };

        if (runs[i].open && runs[i].expected &&
            limit_of(s, &runs[i], arena, &act.limit_us, err) != 0)
            return -1;
        if (s->now_us - runs[i].start_at < act.limit_us)
            act.due_at = runs[i].start_at + act.limit_us;
        s->acts[s->n_acts++] = act;
    }
    return 0;
}

/* The tenant's runs that have become old since its mark. */
static int look_at(struct stuck *s, const struct stuck_tenant *tenant, struct arena *arena,
                   struct error *err)
{
    int64_t until = s->now_us - (int64_t)LEAST_S * USEC_PER_SEC;
    struct stuck_span span = { tenant->mark, until, (int64_t)(RUNS_MAX - s->n_acts) };
    struct stuck_tenant mark = { tenant->tenant_id, until };
    struct list list;

    if (tenant->mark == TIME_NULL)
        span.after = until - (int64_t)BACK_S * USEC_PER_SEC;
    if (s->n_acts >= RUNS_MAX || until <= span.after)
        return 0;
    if (store_stuck_runs(s->options.db, tenant->tenant_id, &span, arena, &list, err) != 0 ||
        add_acts(s, &list, arena, err) != 0)
        return -1;
    if (list.n == (size_t)span.limit) /* there may be more of the same start: those once more */
        mark.mark = ((const struct stuck_run *)list.items)[list.n - 1].start_at - 1;
    if ((list.n > 0 || until - span.after > (int64_t)MARK_S * USEC_PER_SEC) &&
        s->n_marks < TENANTS_MAX)
        s->marks[s->n_marks++] = mark;
    return 0;
}

static int add_over(struct stuck *s, struct arena *arena, struct error *err)
{
    const struct stuck_run *runs;
    struct list over;

    if (store_stuck_over(s->options.db, RUNS_MAX, arena, &over, err) != 0)
        return -1;
    runs = over.items;
    for (size_t i = 0; i < over.n && s->n_acts < COUNT_OF(s->acts); i++)
        s->acts[s->n_acts++] = (struct act){ runs[i].tenant_id, runs[i].run_no, 0, TIME_NULL };
    return 0;
}

static int look(struct stuck *s, bool opens, struct arena *arena, struct error *err)
{
    struct list tenants, due;

    s->n_acts = s->n_marks = 0;
    if (!opens)
        return add_over(s, arena, err);
    if (store_stuck_due(s->options.db, s->now_us, RUNS_MAX, arena, &due, err) != 0 ||
        add_acts(s, &due, arena, err) != 0 ||
        store_stuck_tenants(s->options.db, arena, &tenants, err) != 0)
        return -1;
    for (size_t i = 0; i < tenants.n; i++)
        if (look_at(s, &((const struct stuck_tenant *)tenants.items)[i], arena, err) != 0)
            return -1;
    return add_over(s, arena, err);
}

static int open_alert(const struct stuck *s, struct db *db, const struct stuck_run *run,
                      int64_t limit_us, struct arena *arena, struct error *err)
{
    struct alert_row alert = {
        .tenant_id = run->tenant_id,
        .type = STR_LIT("run.stuck"),
        .agent_id = run->agent_id,
        .agent_name = run->agent_name,
        .subject = run->run_id,
        .run_no = { true, run->run_no },
        .told = run->muted_until == TIME_NULL || run->muted_until <= s->now_us,
        .since_at = run->start_at,
        .opened_at = s->now_us,
        .limit_seconds = { true, limit_us / USEC_PER_SEC },
        .detail =
            arena_printf(arena, "{\"limit_seconds\":%lld}", (long long)(limit_us / USEC_PER_SEC)),
    };
    char text[DATETIME_TEXT_MAX];
    const struct alert_news news = {
        &alert, alert.type,
        arena_printf(arena, "Run %.*s of agent '%.200s' is open since %s", STR_ARG(run->run_id),
                     arena_cstr(arena, run->agent_name), datetime_format(run->start_at, text).data),
        s->notes
    };
    bool opened;
    int64_t n = 0;

    if (store_stuck_count(db, run, &n, err) != 0)
        return -1;
    return n >= OPEN_MAX ? 0 : alerts_open(db, &news, &opened, err);
}

static struct str why_over(const struct stuck_run *run)
{
    if (!run->open)
        return STR_LIT("closed");
    return run->wanted ? STR_LIT("disabled") : STR_LIT("rule");
}

static int close_alert(const struct stuck *s, struct db *db, const struct stuck_run *run,
                       struct arena *arena, struct error *err)
{
    struct alert_row alert;
    struct alert_news news = { .row = &alert,
                               .message = STR_LIT("run.recovered"),
                               .notes = s->notes };
    struct str alert_id;

    if (store_stuck_alert(db, run, arena, &alert_id, err) != 0)
        return -1;
    if (str_is_null(alert_id))
        return 0;
    if (store_alert(db, run->tenant_id, alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = s->now_us;
    alert.closed_by = why_over(run);
    alert.told = alert.told && run->wanted; /* who switched the rule off knows */
    news.summary = arena_printf(arena, "Run %.*s of agent '%.200s' is stuck no more",
                                STR_ARG(run->run_id), arena_cstr(arena, run->agent_name));
    return alerts_close(db, &news, err);
}

/* By the run as it is now. */
static int apply_act(const struct stuck *s, struct db *db, const struct act *act,
                     struct arena *arena, struct error *err)
{
    struct stuck_run run;

    if (store_stuck_run(db, act->tenant_id, act->run_no, arena, &run, err) != 0)
        return -1;
    if (run.run_no == 0)
        return 0;
    if (store_stuck_forget(db, &run, err) != 0)
        return -1;
    if (!run.open || !run.expected || !run.wanted)
        return close_alert(s, db, &run, arena, err);
    if (act->limit_us == 0)
        return 0;
    if (act->due_at != TIME_NULL)
        return store_stuck_later(db, &run, act->due_at, err);
    return open_alert(s, db, &run, act->limit_us, arena, err);
}

static int apply(struct writer_job *job, struct db *db, struct error *err)
{
    struct stuck *s = CONTAINER_OF(job, struct stuck, job);
    struct arena arena;
    int r = 0;

    s->notes = ingest_notes_of(job);
    arena_init(&arena);
    for (size_t i = 0; r == 0 && i < s->n_acts; i++) {
        r = apply_act(s, db, &s->acts[i], &arena, err);
        arena_reset(&arena);
    }
    for (size_t i = 0; r == 0 && i < s->n_marks; i++)
        r = store_stuck_mark(db, &s->marks[i], err);
    arena_done(&arena);
    return r;
}

static bool swap_busy(struct stuck *s, bool busy)
{
    bool before;

    pthread_mutex_lock(&s->lock);
    before = s->busy;
    s->busy = busy;
    pthread_mutex_unlock(&s->lock);
    return before;
}

/* What failed is found again with the next look. */
static void done(struct writer_job *job, const struct error *err)
{
    (void)err;
    (void)swap_busy(CONTAINER_OF(job, struct stuck, job), false);
}

/* Not later than the wall clock says, nor than it would say had nobody set it ahead. */
static int64_t steady_wall(const struct stuck *s, int64_t wall_us, int64_t mono_us)
{
    int64_t steady = s->wall_us + (mono_us - s->began_us);

    return wall_us < steady ? wall_us : steady;
}

int stuck_tick(struct stuck *s, int64_t wall_us, int64_t mono_us, int64_t epoch_us,
               struct error *err)
{
    struct arena arena;
    int r;

    if (mono_us - s->looked_us < (int64_t)PERIOD_S * USEC_PER_SEC || swap_busy(s, true))
        return 0;
    s->looked_us = mono_us;
    s->now_us = steady_wall(s, wall_us, mono_us);
    arena_init(&arena);
    r = look(s, mono_us - epoch_us >= (int64_t)REST_S * USEC_PER_SEC, &arena, err);
    arena_done(&arena);
    if (r == 0 && s->n_acts + s->n_marks > 0) {
        s->job = (struct writer_job){
            .apply = apply, .done = done, .events = 1 + s->n_acts, .always = true
        };
        r = writer_submit(s->options.writer, &s->job, err);
        if (r == 0)
            return 0;
    }
    (void)swap_busy(s, false);
    return r;
}
