/* stuck.c - runs that stay open, and the job that opens and closes their alerts.
 *
 * A round goes through the tenants by number, as many in a tick as a fraction of
 * a second allows, and looks at a few runs of each; when some have more, another
 * round follows at once. So no tenant waits for another's runs.
 */
#include "features/alerts/stuck.h"

#include <stdlib.h>

#include "base/busy.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/lock.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/alerts/alerts.h"
#include "features/alerts/stuck_store.h"
#include "features/events/recent_runs_store.h"
#include "shape/utf8.h"

enum {
    PERIOD_S = 60,      /* between the beginnings of two rounds */
    SLICE_MS = 100,     /* of a tick */
    REST_S = 600,       /* after we began to listen */
    MARK_S = 600,       /* that a mark may lag behind */
    LEAST_S = 86400,    /* that a run may take */
    BACK_S = 2 * 86400, /* looked back at where there is no mark yet */
    TIMES_MEDIAN = 5,
    MEDIAN_RUNS = 100,
    TENANT_RUNS = 50,   /* of one tenant in a round */
    RUNS_MAX = 200,     /* of each kind in a tick */
    OPEN_MAX = 20,      /* alerts of one agent */
    TENANTS_MAX = 1000, /* in a tick */
    NAME_BYTES = 200    /* of a name in a sentence */
};

/* What is asked of the writer for a run. */
struct act {
    int64_t tenant_id, run_no;
    int64_t limit_us; /* that it passed; 0: it is over */
    int64_t due_at;   /* TIME_NULL: now */
};

struct stuck {
    struct stuck_options options;
    int64_t round_us; /* monotonic: when the last round began */
    bool in_round, more;
    int64_t reached;           /* the tenant that the round is at */
    int64_t wall_us, began_us; /* both clocks at one time: the wall clock may step, this does not */

    struct writer_job job; /* the writer's while `busy`, as is what follows */
    struct act acts[3 * RUNS_MAX];
    size_t n_acts;
    struct stuck_tenant *marks;
    size_t n_marks;
    struct arena arena; /* of the marks */
    int64_t now_us;
    struct alert_notes *notes; /* of the transaction */
    struct busy busy;
};

struct stuck *stuck_new(const struct stuck_options *options, int64_t wall_us, int64_t mono_us)
{
    struct stuck *s = NEW(struct stuck);

    s->options = *options;
    s->wall_us = wall_us;
    s->began_us = s->round_us = mono_us;
    arena_init(&s->arena);
    s->marks = mem_new(TENANTS_MAX * sizeof(*s->marks));
    return s;
}

void stuck_free(struct stuck *s)
{
    if (s == NULL)
        return;
    arena_done(&s->arena);
    free(s->marks);
    free(s);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* How long a run of this agent may take. */
static int limit_of(struct stuck *s, const struct stuck_run *run, int64_t *ret, struct error *err)
{
    const struct recent_runs recent = { run->tenant_id, run->agent_id, MEDIAN_RUNS };
    int64_t durations[MEDIAN_RUNS];
    const struct recent_run *runs;
    struct list list;
    size_t n = 0;

    if (store_recent_runs(s->options.db, &recent, &s->arena, &list, err) != 0)
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

static int add_acts(struct stuck *s, const struct list *list, struct error *err)
{
    const struct stuck_run *runs = list->items;

    for (size_t i = 0; i < list->n; i++) {
        struct act act = { runs[i].tenant_id, runs[i].run_no, 0, TIME_NULL };

        if (runs[i].open && runs[i].expected && limit_of(s, &runs[i], &act.limit_us, err) != 0)
            return -1;
        if (s->now_us - runs[i].start_at < act.limit_us)
            act.due_at = runs[i].start_at + act.limit_us;
        s->acts[s->n_acts++] = act;
    }
    return 0;
}

/* The tenant's runs that have become old since its mark, some of them. */
static int look_at(struct stuck *s, const struct stuck_tenant *tenant, struct error *err)
{
    int64_t until = s->now_us - (int64_t)LEAST_S * USEC_PER_SEC;
    struct stuck_span span = { tenant->mark, until, TENANT_RUNS };
    struct stuck_tenant mark = { tenant->tenant_id, { until, STUCK_LAST_ID } };
    const struct stuck_run *runs;
    struct list list;

    if (tenant->mark.start_at == TIME_NULL)
        span.after = (struct stuck_place){ until - (int64_t)BACK_S * USEC_PER_SEC, STR_LIT("") };
    if (until <= span.after.start_at)
        return 0;
    if (store_stuck_runs(s->options.db, tenant->tenant_id, &span, &s->arena, &list, err) != 0 ||
        add_acts(s, &list, err) != 0)
        return -1;
    runs = list.items;
    if (list.n == TENANT_RUNS) {
        s->more = true;
        mark.mark = (struct stuck_place){ runs[list.n - 1].start_at, runs[list.n - 1].run_id };
    }
    if (list.n > 0 || until - span.after.start_at > (int64_t)MARK_S * USEC_PER_SEC)
        s->marks[s->n_marks++] = mark;
    return 0;
}

/* What was put down for later and is due. */
static int look_at_due(struct stuck *s, struct error *err)
{
    struct list due;

    if (store_stuck_due(s->options.db, s->now_us, RUNS_MAX, &s->arena, &due, err) != 0)
        return -1;
    s->more = s->more || due.n == RUNS_MAX;
    return add_acts(s, &due, err);
}

static int look_at_over(struct stuck *s, struct error *err)
{
    const struct stuck_run *runs;
    struct list over;

    if (store_stuck_over(s->options.db, RUNS_MAX, &s->arena, &over, err) != 0)
        return -1;
    runs = over.items;
    for (size_t i = 0; i < over.n; i++)
        s->acts[s->n_acts++] = (struct act){ runs[i].tenant_id, runs[i].run_no, 0, TIME_NULL };
    s->more = s->more || over.n == RUNS_MAX;
    return 0;
}

/* As many tenants as there is time and room for. */
static int look_at_some(struct stuck *s, struct error *err)
{
    int64_t until_us = clock_raw_us() + (int64_t)SLICE_MS * USEC_PER_MSEC;
    size_t room = s->n_acts + RUNS_MAX, n = 0;
    const struct stuck_tenant *tenants;
    struct list list;

    if (store_stuck_tenants(s->options.db, s->reached, TENANTS_MAX, &s->arena, &list, err) != 0)
        return -1;
    tenants = list.items;
    while (n < list.n && s->n_acts + TENANT_RUNS <= room && (n == 0 || clock_raw_us() < until_us)) {
        if (look_at(s, &tenants[n], err) != 0)
            return -1;
        s->reached = tenants[n++].tenant_id;
    }
    s->in_round = n < list.n || list.n == TENANTS_MAX;
    return 0;
}

/* One tick's part of a round. */
static int look(struct stuck *s, bool opens, struct error *err)
{
    bool begins = s->reached == 0;

    s->n_acts = s->n_marks = 0;
    arena_reset(&s->arena);
    if (begins && look_at_over(s, err) != 0)
        return -1;
    s->in_round = false;
    if (!opens)
        return 0;
    if (begins && look_at_due(s, err) != 0)
        return -1;
    return look_at_some(s, err);
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
    struct str name = utf8_cut(run->agent_name, NAME_BYTES);
    char text[DATETIME_TEXT_MAX];
    const struct alert_news news = {
        &alert, alert.type,
        arena_printf(arena, "Run %.*s of agent '%.*s' is open since %s", STR_ARG(run->run_id),
                     STR_ARG(name), datetime_format(run->start_at, text).data),
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
    struct str alert_id, name = utf8_cut(run->agent_name, NAME_BYTES);

    if (store_stuck_alert(db, run, arena, &alert_id, err) != 0)
        return -1;
    if (str_is_null(alert_id))
        return 0;
    if (store_alert(db, run->tenant_id, alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = s->now_us;
    alert.closed_by = why_over(run);
    alert.told = alert.told && run->wanted; /* who switched the rule off knows */
    news.summary = arena_printf(arena, "Run %.*s of agent '%.*s' is stuck no more",
                                STR_ARG(run->run_id), STR_ARG(name));
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

static int apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct stuck *s = CONTAINER_OF(job, struct stuck, job);
    struct arena arena;
    int r = 0;

    s->notes = txn->notes;
    arena_init(&arena);
    for (size_t i = 0; r == 0 && i < s->n_acts; i++) {
        r = apply_act(s, txn->db, &s->acts[i], &arena, err);
        arena_reset(&arena);
    }
    for (size_t i = 0; r == 0 && i < s->n_marks; i++)
        r = store_stuck_mark(txn->db, &s->marks[i], err);
    arena_done(&arena);
    return r;
}

/* What failed is found again with the next round. */
static void done(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct stuck, job)->busy);
}

/* Not later than the wall clock says, nor than it would say had nobody set it ahead; but one that
 * has not been touched for as long as a run may take is right. */
static int64_t steady_wall(struct stuck *s, int64_t wall_us, int64_t mono_us, int64_t epoch_us)
{
    int64_t steady;

    if (mono_us - epoch_us >= (int64_t)LEAST_S * USEC_PER_SEC) {
        s->wall_us = wall_us;
        s->began_us = mono_us;
    }
    steady = s->wall_us + (mono_us - s->began_us);
    return wall_us < steady ? wall_us : steady;
}

int stuck_tick(struct stuck *s, int64_t wall_us, int64_t mono_us, int64_t epoch_us,
               struct error *err)
{
    bool due = mono_us - s->round_us >= (int64_t)PERIOD_S * USEC_PER_SEC;
    int r;

    if ((!s->in_round && !s->more && !due) || !busy_begin(&s->busy))
        return 0;
    if (!s->in_round) {
        s->round_us = mono_us;
        s->reached = 0;
        s->more = false;
    }
    s->now_us = steady_wall(s, wall_us, mono_us, epoch_us);
    r = look(s, mono_us - epoch_us >= (int64_t)REST_S * USEC_PER_SEC, err);
    if (r == 0 && s->n_acts + s->n_marks > 0) {
        s->job = (struct writer_job){
            .apply = apply, .done = done, .events = 1 + s->n_acts, .unbounded = true
        };
        r = writer_submit(s->options.writer, &s->job, err);
        if (r == 0)
            return 0;
    }
    if (r != 0)
        s->in_round = s->more = false; /* not before the next one is due */
    busy_end(&s->busy);
    return r;
}
