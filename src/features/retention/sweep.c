/* sweep.c - retention passes and their steps. */
#include "features/retention/sweep.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/retention.h"
#include "features/access/stored_bytes.h"
#include "features/events/event_log.h"
#include "features/metrics.h"
#include "features/retention/expiry_store.h"

enum {
    OPEN_DAYS = 7,    /* without an event before an open run may be deleted */
    STEP_ROWS = 1000, /* rows deleted per transaction */
    STEP_US = 5000,   /* duration of a transaction */

    IDLE_US = 500000,   /* of a writer's time per second without incoming reports … */
    BUSY_US = 100000,   /* … and with them; then also at most … */
    BUSY_ROWS = 1000,   /* … this many rows … */
    ROW_BYTES = 512,    /* … plus one per this many incoming bytes */
    WAITING_PART = 20,  /* of what arrived: if more waits, reports are late */
    BEHIND_ALONE = 4,   /* times as much: the one writer of SQLite has 0.6 of a second left … */
    BEHIND_SEVERAL = 8, /* … and one of several 0.2 of it */
};

#define DAY_US    ((int64_t)86400 * USEC_PER_SEC)
#define PERIOD_US ((int64_t)SWEEP_PERIOD_S * USEC_PER_SEC)

enum kind { KIND_EVENTS, KIND_BUSINESS, KIND_LLM, KINDS_N };

/* Position and counts of a pass. A plain value: a step works on a copy. */
struct pass {
    bool under_way;
    int64_t now_us;
    int64_t tenant_id; /* the current tenant; 0: before the first */
    bool begun;        /* with that tenant; false: it is finished */
    enum kind kind;
    int64_t start_at; /* of the last run examined, and its id */
    char run_id[UUID_TEXT_LEN];
    size_t run_id_len;
    bool runs_examined; /* all that are old enough */
    int64_t runs, events, business, llm;
};

struct sweep {
    struct sweep_options options;
    int64_t pass_began_us;     /* monotonic: when a pass was last due */
    int64_t wall_us, began_us; /* both clocks when the sweep was created */

    struct writer_job job; /* the writer's while `busy`, as all up to the lock */
    struct pass pass, next;
    int64_t step_began_us, step_rows;
    struct sweep_pace pace;
    uint64_t ticked, before; /* incoming bytes at the last tick, and at the one before it */
    struct busy busy;
};

struct sweep *sweep_new(const struct sweep_options *options, int64_t wall_us, int64_t mono_us)
{
    struct sweep *s = NEW(struct sweep);

    s->options = *options;
    s->wall_us = wall_us;
    s->began_us = s->pass_began_us = mono_us;
    return s;
}

void sweep_free(struct sweep *s)
{
    free(s);
}

/* The result of one or two statements. */
struct portion {
    int64_t rows, bytes;
    bool more; /* rows of this kind are left */
};

static void save_cursor(struct pass *p, const struct run_cursor *at)
{
    p->start_at = at->start_at;
    p->run_id_len = at->run_id.len < sizeof(p->run_id) ? at->run_id.len : sizeof(p->run_id);
    memcpy(p->run_id, at->run_id.data, p->run_id_len);
}

static int sweep_runs(struct sweep *s, struct db *db, struct pass *p,
                      const struct retention_limits *limits, struct portion *ret, struct error *err)
{
    const int64_t before = p->now_us - limits->events_days.value * DAY_US;
    const int64_t open_before = p->now_us - OPEN_DAYS * DAY_US;
    const struct expiry_runs which = { .tenant_id = p->tenant_id,
                                       .before = before,
                                       .open_before = before < open_before ? before : open_before,
                                       .keep_failed = limits->keep_failed_runs,
                                       .at = { p->start_at, str_from(p->run_id, p->run_id_len) },
                                       .window = expiry_window(db),
                                       .now_us = p->now_us };
    const struct gone_run *runs;
    struct expired_runs expired;
    ARENA_SCOPED(arena);
    int r;

    r = expire_runs(db, &which, &arena, &expired, err);
    if (r == 0) {
        runs = expired.runs.items;
        for (size_t i = 0; i < expired.runs.n; i++)
            s->options.log->methods->run_gone(s->options.log, p->tenant_id, runs[i].run_id);
        ret->rows = (int64_t)expired.runs.n;
        p->runs += ret->rows;
        p->runs_examined = !expired.more;
        save_cursor(p, &expired.at);
    }
    return r;
}

/* First the events of deleted runs, so that few remain; then further runs. */
static int sweep_events(struct sweep *s, struct db *db, struct pass *p,
                        const struct retention_limits *limits, struct portion *ret,
                        struct error *err)
{
    const int64_t max = expiry_portion(db);
    struct expired_reports expired;

    if (expire_events(db, p->tenant_id, max, &expired, err) != 0)
        return -1;
    ret->rows = expired.rows;
    ret->bytes = expired.bytes;
    p->events += ret->rows;
    ret->more = ret->rows == max;
    if (ret->more || p->runs_examined || !limits->events_days.has)
        return 0;
    ret->more = true;
    return sweep_runs(s, db, p, limits, ret, err);
}

static int sweep_business(struct db *db, struct pass *p, const struct retention_limits *limits,
                          struct portion *ret, struct error *err)
{
    const struct expiry_reports which = { p->tenant_id,
                                          p->now_us - limits->business_days.value * DAY_US,
                                          expiry_portion(db) };
    struct expired_reports expired;

    if (!limits->business_days.has)
        return 0;
    if (expire_business(db, &which, &expired, err) != 0)
        return -1;
    p->business += expired.reports;
    *ret = (struct portion){ expired.rows, expired.bytes, expired.rows > 0 };
    return expired.rows == 0 ? 0 : retention_mark_business(db, p->tenant_id, which.before, err);
}

static int sweep_llm(struct db *db, struct pass *p, const struct retention_limits *limits,
                     struct portion *ret, struct error *err)
{
    const struct expiry_reports which = { p->tenant_id, p->now_us - limits->llm_days.value * DAY_US,
                                          expiry_portion(db) };
    struct expired_reports expired;

    if (!limits->llm_days.has)
        return 0;
    if (expire_llm(db, &which, &expired, err) != 0)
        return -1;
    p->llm += expired.reports;
    *ret = (struct portion){ expired.rows, expired.bytes, expired.rows == which.max };
    return expired.rows == 0 ? 0 : retention_mark_llm(db, p->tenant_id, which.before, err);
}

static int sweep_kind(struct sweep *s, struct db *db, struct pass *p,
                      const struct retention_limits *limits, struct portion *ret, struct error *err)
{
    *ret = (struct portion){ 0 };
    if (p->kind == KIND_EVENTS)
        return sweep_events(s, db, p, limits, ret, err);
    if (p->kind == KIND_BUSINESS)
        return sweep_business(db, p, limits, ret, err);
    return sweep_llm(db, p, limits, ret, err);
}

/* Moves on to the next tenant, or ends the pass. */
static int next_tenant(struct db *db, struct pass *p, struct error *err)
{
    if (retention_next(db, p->tenant_id, &p->tenant_id, err) != 0)
        return -1;
    p->under_way = p->begun = p->tenant_id != 0;
    p->kind = KIND_EVENTS;
    p->runs_examined = false;
    save_cursor(p, &(struct run_cursor){ INT64_MIN, RUN_ID_FIRST });
    return 0;
}

/* Has the step reached its limits? */
static bool step_is_full(const struct sweep *s)
{
    return s->step_rows >= STEP_ROWS || clock_raw_us() - s->step_began_us >= STEP_US;
}

/* The rest of a tenant, or as much of it as fits into the step. */
static int sweep_tenant(struct sweep *s, struct txn *txn, struct pass *p, struct error *err)
{
    struct db *db = txn->db;
    struct retention_limits limits;
    struct portion portion;
    bool there;

    if (retention_take(db, p->tenant_id, &limits, &there, err) != 0)
        return -1;
    p->begun = there;
    while (p->begun && !step_is_full(s)) {
        if (sweep_kind(s, db, p, &limits, &portion, err) != 0)
            return -1;
        s->step_rows += portion.rows;
        stored_bytes_add(stored_bytes_of(txn), p->tenant_id, -portion.bytes);
        if (!portion.more)
            p->begun = ++p->kind < KINDS_N;
    }
    return 0;
}

/* Works on a copy of the pass: a failed transaction leaves its position unchanged. */
static int sweep_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct sweep *s = CONTAINER_OF(job, struct sweep, job);
    struct pass *p = &s->next;

    s->next = s->pass;
    s->step_rows = 0;
    s->step_began_us = clock_raw_us();
    while (p->under_way && !step_is_full(s)) {
        if (!p->begun && next_tenant(txn->db, p, err) != 0)
            return -1;
        if (p->under_way && sweep_tenant(s, txn, p, err) != 0)
            return -1;
    }
    return 0;
}

static void count_deleted(const struct pass *before, const struct pass *after)
{
    metric_add(METRIC_DELETED_RUNS, (uint64_t)(after->runs - before->runs));
    metric_add(METRIC_DELETED_EVENTS, (uint64_t)(after->events - before->events));
    metric_add(METRIC_DELETED_BUSINESS, (uint64_t)(after->business - before->business));
    metric_add(METRIC_DELETED_LLM, (uint64_t)(after->llm - before->llm));
}

static void log_deleted(const struct pass *p)
{
    if (p->runs + p->events + p->business + p->llm > 0)
        log_write(LOG_INFO, "retention",
                  "deleted %lld runs, %lld events, %lld business reports, %lld LLM reports",
                  (long long)p->runs, (long long)p->events, (long long)p->business,
                  (long long)p->llm);
}

/* Deletions are writes, too: in SQLite most of their cost falls on the commits of other
 * transactions. */
bool sweep_pace_may_continue(const struct sweep_pace *p)
{
    const int64_t times = !p->behind ? 1 : p->several ? BEHIND_SEVERAL : BEHIND_ALONE;
    const int64_t busy_us = BUSY_US * times;
    const bool late = p->waiting > p->arrived / WAITING_PART;
    const int64_t rows = BUSY_ROWS + (int64_t)(p->arrived / ROW_BYTES);

    if (p->arrived == 0)
        return p->spent_us < (busy_us > IDLE_US ? busy_us : IDLE_US);
    return p->spent_us < busy_us && p->rows < (late ? rows : rows * times);
}

static bool may_continue(struct sweep *s)
{
    struct writer_queue queue;

    writer_waiting(s->options.writer, &queue);
    s->pace.waiting = queue.bytes;
    s->pace.arrived = queue.submitted - s->before;
    return sweep_pace_may_continue(&s->pace);
}

/* Starts the next step at once while this second's share lasts. After a failure the next minute
 * starts a new pass. */
static void sweep_done(struct writer_job *job, const struct error *err)
{
    struct sweep *s = CONTAINER_OF(job, struct sweep, job);

    s->pace.spent_us += clock_raw_us() - s->step_began_us;
    s->pace.rows += s->step_rows;
    if (err == NULL) {
        count_deleted(&s->pass, &s->next);
        s->pass = s->next;
    } else {
        s->pass.under_way = false;
        log_write(LOG_WARNING, "retention", "retention pass failed: %s", err->text);
    }
    if (!s->pass.under_way)
        log_deleted(&s->pass);
    else if (may_continue(s) && writer_submit(s->options.writer, &s->job, NULL) == 0)
        return;
    busy_end(&s->busy);
}

/* Starts a pass, if it is time and a tenant has limits. */
static int begin_pass(struct sweep *s, int64_t wall_us, int64_t mono_us, struct error *err)
{
    const int64_t steady_us = s->wall_us + (mono_us - s->began_us);
    int64_t first;

    if (mono_us - s->pass_began_us < PERIOD_US)
        return 0;
    s->pass_began_us = mono_us;
    if (retention_next(s->options.db, 0, &first, err) != 0)
        return -1;
    if (first != 0)
        s->pass =
            (struct pass){ .under_way = true, .now_us = wall_us < steady_us ? wall_us : steady_us };
    return 0;
}

static void begin_second(struct sweep *s, int64_t mono_us)
{
    const int64_t since_us = mono_us - s->pass_began_us;
    const bool changes = s->pass.under_way ? since_us >= PERIOD_US : since_us <= PERIOD_US / 2;
    struct writer_queue queue;

    s->pace = (struct sweep_pace){ .behind = changes ? s->pass.under_way : s->pace.behind,
                                   .several = s->options.shared };
    s->before = s->ticked;
    writer_waiting(s->options.writer, &queue);
    s->ticked = queue.submitted;
}

int sweep_tick(struct sweep *s, int64_t wall_us, int64_t mono_us, struct error *err)
{
    int r = 0;

    if (!busy_begin(&s->busy))
        return 0;
    if (!s->pass.under_way)
        r = begin_pass(s, wall_us, mono_us, err);
    begin_second(s, mono_us);
    if (r == 0 && s->pass.under_way) {
        s->job = (struct writer_job){ .apply = sweep_apply,
                                      .done = sweep_done,
                                      .unbounded = true,
                                      .exclusive = true,
                                      .keeps_caches = true };
        r = writer_submit(s->options.writer, &s->job, err);
        if (r == 0)
            return 0;
    }
    busy_end(&s->busy);
    return r;
}
