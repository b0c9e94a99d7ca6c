/* stuck.c - opens an alert for each run that stays open too long.
 *
 * A run is stuck when it has been open for 24 hours, or for five times the
 * median duration of its agent's last runs if that is longer. Once a minute it
 * reads the runs that became 24 hours old since the last scan, in the order of
 * their start; runs that may take longer are read again when they are due.
 *
 * A round goes through the tenants in the order of their ids, as many per tick
 * as a fraction of a second allows, and reads a few runs of each. When some
 * tenants have more, another round follows at once; so no tenant waits for
 * another's runs.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/mem.h"
#include "features/alerts/alerts.h"
#include "features/alerts/store.h"
#include "features/alerts/watch.h"
#include "features/events/shapes.h"

enum {
    PERIOD_S = 60,            /* between the starts of two rounds */
    SLICE_MS = 100,           /* time per tick */
    WARMUP_S = 600,           /* after the epoch, before alerts open */
    MARK_LAG_S = 600,         /* how far a mark may lag behind */
    LIMIT_MIN_S = 86400,      /* least age of a stuck run */
    FIRST_SCAN_S = 2 * 86400, /* how far the first scan looks back */
    TIMES_MEDIAN = 5,
    MEDIAN_RUNS = 100,
    TENANT_RUNS = 50,   /* per tenant and round */
    RUNS_MAX = 200,     /* of each kind per tick */
    OPEN_MAX = 20,      /* alerts per agent */
    TENANTS_MAX = 1000, /* per tick */
    NAME_BYTES = 200    /* of a name in a sentence */
};

/* A request to the writer about a run: open its alert, close it, or check again later. */
struct stuck_transition {
    int64_t tenant_id, run_no;
    int64_t limit_us; /* how long it may take; 0: close its alert */
    int64_t due_at;   /* when to check again; TIME_NULL: now */
};

struct stuck {
    struct watching w;
    int64_t round_us;          /* monotonic: when the last round began */
    bool in_round;             /* tenants are left to scan */
    bool more;                 /* runs were left over: begin another round at once */
    int64_t reached;           /* last tenant scanned in the round */
    int64_t wall_us, began_us; /* both clocks, read together, for steady_wall() */

    struct stuck_transition transitions[3 * RUNS_MAX];
    size_t n_transitions;
    struct stuck_tenant *marks; /* TENANTS_MAX; their texts are in the arena */
    size_t n_marks;
    int64_t now_us;
};

static void stuck_begin(struct watching *w, const struct tick *now)
{
    struct stuck *s = CONTAINER_OF(w, struct stuck, w);

    s->wall_us = now->wall_us;
    s->began_us = s->round_us = now->mono_us;
    s->marks = mem_new(TENANTS_MAX * sizeof(*s->marks));
}

static void stuck_end(struct watching *w)
{
    free(CONTAINER_OF(w, struct stuck, w)->marks);
}

/* How long a run of this agent may take. */
static int limit_of(struct stuck *s, const struct stuck_run *run, int64_t *ret, struct error *err)
{
    const struct finished_runs of = { run->tenant_id, run->agent_id, MEDIAN_RUNS, false };
    struct list runs;
    int64_t median;
    bool more;

    *ret = (int64_t)LIMIT_MIN_S * USEC_PER_SEC;
    if (alert_store_finished(s->w.env.db, &of, &s->w.arena, &runs, &more, err) != 0)
        return -1;
    median = runs.n == 0 ? 0 : finished_runs_percentile(&runs, 50, &s->w.arena);
    if (median > *ret / TIMES_MEDIAN / USEC_PER_MSEC &&
        median < INT64_MAX / TIMES_MEDIAN / USEC_PER_MSEC)
        *ret = median * TIMES_MEDIAN * USEC_PER_MSEC;
    return 0;
}

static int add_transitions(struct stuck *s, const struct list *list, struct error *err)
{
    const struct stuck_run *runs = list->items;

    for (size_t i = 0; i < list->n; i++) {
        struct stuck_transition transition = { runs[i].tenant_id, runs[i].run_no, 0, TIME_NULL };

        if (runs[i].open && runs[i].expected &&
            limit_of(s, &runs[i], &transition.limit_us, err) != 0)
            return -1;
        if (s->now_us - runs[i].start_at < transition.limit_us)
            transition.due_at = runs[i].start_at + transition.limit_us;
        s->transitions[s->n_transitions++] = transition;
    }
    return 0;
}

/* Reads up to TENANT_RUNS runs that have reached the least age since the tenant's mark. */
static int scan_tenant(struct stuck *s, const struct stuck_tenant *tenant, struct error *err)
{
    int64_t until = s->now_us - (int64_t)LIMIT_MIN_S * USEC_PER_SEC;
    struct stuck_span span = { tenant->mark, until, TENANT_RUNS };
    struct stuck_tenant mark = { tenant->tenant_id, { until, RUN_ID_LAST } };
    const struct stuck_run *runs;
    struct list list;

    if (tenant->mark.start_at == TIME_NULL)
        span.after =
            (struct stuck_cursor){ until - (int64_t)FIRST_SCAN_S * USEC_PER_SEC, RUN_ID_FIRST };
    if (until <= span.after.start_at)
        return 0;
    if (alert_store_stuck_runs(s->w.env.db, tenant->tenant_id, &span, &s->w.arena, &list, err) !=
            0 ||
        add_transitions(s, &list, err) != 0)
        return -1;
    runs = list.items;
    if (list.n == TENANT_RUNS) {
        s->more = true;
        mark.mark = (struct stuck_cursor){ runs[list.n - 1].start_at, runs[list.n - 1].run_id };
    }
    if (list.n > 0 || until - span.after.start_at > (int64_t)MARK_LAG_S * USEC_PER_SEC)
        s->marks[s->n_marks++] = mark;
    return 0;
}

/* Runs that were postponed and are due. */
static int scan_due(struct stuck *s, struct error *err)
{
    struct list due;

    if (alert_store_stuck_due(s->w.env.db, s->now_us, RUNS_MAX, &s->w.arena, &due, err) != 0)
        return -1;
    s->more = s->more || due.n == RUNS_MAX;
    return add_transitions(s, &due, err);
}

static int scan_recovered(struct stuck *s, struct error *err)
{
    const struct stuck_run *runs;
    struct list over;

    if (alert_store_stuck_over(s->w.env.db, RUNS_MAX, &s->w.arena, &over, err) != 0)
        return -1;
    runs = over.items;
    for (size_t i = 0; i < over.n; i++)
        s->transitions[s->n_transitions++] =
            (struct stuck_transition){ runs[i].tenant_id, runs[i].run_no, 0, TIME_NULL };
    s->more = s->more || over.n == RUNS_MAX;
    return 0;
}

/* Scans as many tenants as time and room allow. */
static int scan_tenants(struct stuck *s, struct error *err)
{
    int64_t until_us = clock_raw_us() + (int64_t)SLICE_MS * USEC_PER_MSEC;
    size_t room = s->n_transitions + RUNS_MAX, n = 0;
    const struct stuck_tenant *tenants;
    struct list list;

    if (alert_store_stuck_tenants(s->w.env.db, s->reached, TENANTS_MAX, &s->w.arena, &list, err) !=
        0)
        return -1;
    tenants = list.items;
    while (n < list.n && s->n_transitions + TENANT_RUNS <= room &&
           (n == 0 || clock_raw_us() < until_us)) {
        if (scan_tenant(s, &tenants[n], err) != 0)
            return -1;
        s->reached = tenants[n++].tenant_id;
    }
    s->in_round = n < list.n || list.n == TENANTS_MAX;
    return 0;
}

/* One tick's part of a round. */
static int scan_step(struct stuck *s, bool opens, struct error *err)
{
    bool begins = s->reached == 0;

    s->n_transitions = s->n_marks = 0;
    if (begins && scan_recovered(s, err) != 0)
        return -1;
    s->in_round = false;
    if (!opens)
        return 0;
    if (begins && scan_due(s, err) != 0)
        return -1;
    return scan_tenants(s, err);
}

static int open_alert(const struct stuck *s, struct txn *txn, const struct stuck_run *run,
                      int64_t limit_us, struct arena *arena, struct error *err)
{
    struct alert_row alert = {
        .tenant_id = run->tenant_id,
        .type = STR_LIT("run.stuck"),
        .agent_id = run->agent_id,
        .agent_name = run->agent_name,
        .subject = run->run_id,
        .run_no = { true, run->run_no },
        .since_at = run->start_at,
        .opened_at = s->now_us,
        .limit_seconds = { true, limit_us / USEC_PER_SEC },
        .detail =
            arena_printf(arena, "{\"limit_seconds\":%lld}", (long long)(limit_us / USEC_PER_SEC)),
    };
    struct str name = utf8_cut(run->agent_name, NAME_BYTES);
    char text[DATETIME_TEXT_MAX];
    const struct alert_notice notice = {
        &alert, alert.type,
        arena_printf(arena, "Run %.*s of agent '%.*s' has been open since %s", STR_ARG(run->run_id),
                     STR_ARG(name), datetime_format_second(run->start_at, text).data)
    };
    int64_t n = 0;

    if (alert_store_stuck_count(txn->db, run, &n, err) != 0)
        return -1;
    return n >= OPEN_MAX ? 0 : alerts_open(txn, &notice, err);
}

static struct str close_reason(const struct stuck_run *run)
{
    if (!run->open)
        return STR_LIT("closed");
    return run->wanted ? STR_LIT("disabled") : STR_LIT("rule");
}

static int close_alert(const struct stuck *s, struct txn *txn, const struct stuck_run *run,
                       struct arena *arena, struct error *err)
{
    struct alert_row alert;
    struct alert_notice notice = { .row = &alert };
    struct str alert_id, name = utf8_cut(run->agent_name, NAME_BYTES);

    if (alert_store_stuck_alert(txn->db, run, arena, &alert_id, err) != 0)
        return -1;
    if (str_is_null(alert_id))
        return 0;
    if (alert_store_get(txn->db, run->tenant_id, alert_id, arena, &alert, err) != 0)
        return -1;
    alert.closed_at = s->now_us;
    alert.closed_by = close_reason(run);
    if (run->wanted) /* no message when the rule was switched off */
        notice.message = STR_LIT("run.recovered");
    notice.summary = arena_printf(arena, "Run %.*s of agent '%.*s' is no longer stuck",
                                  STR_ARG(run->run_id), STR_ARG(name));
    return alerts_close(txn, &notice, err);
}

/* Reads the run again: it may have closed since the scan. */
static int apply_transition(const struct stuck *s, struct txn *txn,
                            const struct stuck_transition *transition, struct arena *arena,
                            struct error *err)
{
    struct stuck_run run;

    if (alert_store_stuck_run(txn->db, transition->tenant_id, transition->run_no, arena, &run,
                              err) != 0)
        return -1;
    if (run.run_no == 0)
        return 0;
    if (alert_store_stuck_forget(txn->db, &run, err) != 0)
        return -1;
    if (!run.open || !run.expected || !run.wanted)
        return close_alert(s, txn, &run, arena, err);
    if (transition->limit_us == 0)
        return 0;
    if (transition->due_at != TIME_NULL)
        return alert_store_stuck_later(txn->db, &run, transition->due_at, err);
    return open_alert(s, txn, &run, transition->limit_us, arena, err);
}

static int stuck_apply(struct watching *w, struct txn *txn, struct error *err)
{
    struct stuck *s = CONTAINER_OF(w, struct stuck, w);
    ARENA_SCOPED(arena);
    int r = 0;

    for (size_t i = 0; r == 0 && i < s->n_transitions; i++) {
        r = apply_transition(s, txn, &s->transitions[i], &arena, err);
        arena_reset(&arena);
    }
    for (size_t i = 0; r == 0 && i < s->n_marks; i++)
        r = alert_store_stuck_mark(txn->db, &s->marks[i], err);
    return r;
}

/* After a failure nothing was stored, so the next round finds the same runs. */
static void stuck_done(struct watching *w, const struct error *err)
{
    struct stuck *s = CONTAINER_OF(w, struct stuck, w);

    if (err != NULL)
        s->in_round = s->more = false;
}

/* The earlier of the wall clock and the time that has passed by the monotonic clock since the two
 * were last read together: a wall clock set ahead must not make runs look old. After a full
 * LIMIT_MIN_S without a step the wall clock is trusted again. */
static int64_t steady_wall(struct stuck *s, int64_t wall_us, int64_t mono_us, int64_t epoch_us)
{
    int64_t steady;

    if (mono_us - epoch_us >= (int64_t)LIMIT_MIN_S * USEC_PER_SEC) {
        s->wall_us = wall_us;
        s->began_us = mono_us;
    }
    steady = s->wall_us + (mono_us - s->began_us);
    return wall_us < steady ? wall_us : steady;
}

/* Alerts open only some minutes after the epoch, so that delayed events can close their runs
 * first. */
static int stuck_find(struct watching *w, const struct tick *now, struct error *err)
{
    struct stuck *s = CONTAINER_OF(w, struct stuck, w);

    if (!s->in_round && !s->more && now->mono_us - s->round_us < (int64_t)PERIOD_S * USEC_PER_SEC)
        return 0;
    if (!s->in_round) {
        s->round_us = now->mono_us;
        s->reached = 0;
        s->more = false;
    }
    s->now_us = steady_wall(s, now->wall_us, now->mono_us, w->epoch_us);
    if (scan_step(s, now->mono_us - w->epoch_us >= (int64_t)WARMUP_S * USEC_PER_SEC, err) != 0) {
        s->in_round = s->more = false; /* wait until the next round is due */
        return -1;
    }
    if (s->n_transitions + s->n_marks > 0)
        w->job.events = 1 + s->n_transitions;
    return 0;
}

const struct watch stuck_watch = {
    .name = "stuck runs",
    .size = sizeof(struct stuck),
    .begin = stuck_begin,
    .find = stuck_find,
    .apply = stuck_apply,
    .done = stuck_done,
    .end = stuck_end,
};
