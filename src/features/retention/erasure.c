/* erasure.c - the steps of erasing a tenant. */
#include "features/retention/sweep.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/events/event_log.h"
#include "features/retention/expiry_store.h"

enum {
    SHARED_WAIT_S = 10, /* until every process has refused the tenant and emptied its queue */
    STEP_ROWS = 1000,   /* rows deleted per transaction */
    STEP_US = 5000,     /* duration of a transaction */
    SECOND_US = 100000, /* of the writer's time per second */
};

/* A plain value: a step works on a copy. */
struct position {
    int64_t tenant_id; /* 0: none */
    bool runs_erased;  /* and their events */
    size_t table;
    int64_t rows;
};

struct erasure {
    struct sweep_options options;
    struct writer_job job; /* the writer's while `busy`, as all before the next comment */
    struct position now, next;
    enum erasure_turn turn;
    int64_t step_began_us, step_rows, spent_us;
    struct busy busy;
};

struct erasure *erasure_new(const struct sweep_options *options)
{
    struct erasure *e = NEW(struct erasure);

    e->options = *options;
    return e;
}

void erasure_free(struct erasure *e)
{
    free(e);
}

static bool step_is_full(const struct erasure *e)
{
    return e->step_rows >= STEP_ROWS || clock_raw_us() - e->step_began_us >= STEP_US;
}

/* First the events of deleted runs, then further runs, as retention does. */
static int erase_runs(struct erasure *e, struct db *db, struct position *at, int64_t *ret_rows,
                      struct error *err)
{
    struct event_log *log = e->options.log;
    const int64_t max = expiry_portion(db);
    const struct gone_run *runs;
    struct expired_reports events;
    struct list gone = { 0 };
    ARENA_SCOPED(arena);
    int r;

    if (expire_events(db, at->tenant_id, max, &events, err) != 0)
        return -1;
    *ret_rows = events.rows; /* its bytes are erased with it */
    if (*ret_rows == max)
        return 0;
    r = expire_any_runs(db, at->tenant_id, max, &arena, &gone, err);
    runs = gone.items;
    for (size_t i = 0; r == 0 && i < gone.n; i++)
        log->methods->run_gone(log, at->tenant_id, runs[i].run_id);
    *ret_rows += (int64_t)gone.n;
    at->runs_erased = *ret_rows == 0;
    return r;
}

/* Everything seems to be gone: looks once more, since reports may have been stored meanwhile. */
static int erase_last(struct erasure *e, struct db *db, struct position *at, struct error *err)
{
    int64_t found, rows;

    if (erase_runs(e, db, at, &found, err) != 0)
        return -1;
    for (size_t table = 0; table < erasure_tables_n; table++) {
        if (erasure_rows(db, at->tenant_id, table, expiry_portion(db), &rows, err) != 0)
            return -1;
        found += rows;
    }
    at->table = 0;
    if (found > 0)
        return 0;
    at->tenant_id = 0;
    return erasure_tenant(db, e->now.tenant_id, err);
}

static int erase_portion(struct erasure *e, struct db *db, struct position *at, struct error *err)
{
    const int64_t max = expiry_portion(db);
    int64_t rows = 0;
    int r;

    if (!at->runs_erased)
        r = erase_runs(e, db, at, &rows, err);
    else if (at->table == erasure_tables_n)
        return erase_last(e, db, at, err);
    else {
        r = erasure_rows(db, at->tenant_id, at->table, max, &rows, err);
        if (rows < max)
            at->table++;
    }
    e->step_rows += rows;
    at->rows += rows;
    return r;
}

/* If another process has finished erasing the tenant, only its limits are deleted. */
static int take_turn(struct erasure *e, struct db *db, struct error *err)
{
    const int64_t tenant_id = e->now.tenant_id;

    if (erasure_take(db, tenant_id, &e->turn, err) != 0)
        return -1;
    if (e->turn == ERASURE_LIVES)
        log_write(LOG_WARNING, "erasure",
                  "not erasing tenant %lld: it is no longer marked as deleted",
                  (long long)tenant_id);
    if (e->turn == ERASURE_LIVES || e->turn == ERASURE_ENDED)
        e->next = (struct position){ 0 };
    return e->turn == ERASURE_ENDED ? erasure_limits(db, tenant_id, err) : 0;
}

/* Works on a copy of the position: a failed transaction leaves it unchanged. */
static int erasure_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct erasure *e = CONTAINER_OF(job, struct erasure, job);
    int r = erasure_begin(txn->db, err);

    e->next = e->now;
    e->step_rows = 0;
    e->step_began_us = clock_raw_us();
    if (r == 0)
        r = take_turn(e, txn->db, err);
    while (r == 0 && e->turn == ERASURE_OURS && e->next.tenant_id != 0 && !step_is_full(e))
        r = erase_portion(e, txn->db, &e->next, err);
    if (erasure_end(txn->db, r == 0 ? err : NULL) != 0)
        return -1;
    return r;
}

/* Starts the next step at once while this second's share lasts. */
static void erasure_done(struct writer_job *job, const struct error *err)
{
    struct erasure *e = CONTAINER_OF(job, struct erasure, job);

    e->spent_us += clock_raw_us() - e->step_began_us;
    if (err != NULL)
        log_write(LOG_WARNING, "erasure", "tenant %lld: a step failed: %s",
                  (long long)e->now.tenant_id, err->text);
    else if (e->next.tenant_id == 0 && e->next.rows > 0)
        log_write(LOG_INFO, "erasure", "tenant %lld is erased: %lld rows",
                  (long long)e->now.tenant_id, (long long)e->next.rows);
    if (err == NULL)
        e->now = e->next;
    if (err == NULL && e->now.tenant_id != 0 && e->turn == ERASURE_OURS &&
        e->spent_us < SECOND_US && writer_submit(e->options.writer, &e->job, NULL) == 0)
        return;
    busy_end(&e->busy);
}

/* Begins with the next tenant, if there is one. */
static int begin(struct erasure *e, int64_t wall_us, struct error *err)
{
    const int64_t wait_us = e->options.shared ? (int64_t)SHARED_WAIT_S * USEC_PER_SEC : 0;

    e->now = (struct position){ 0 };
    return erasure_next(e->options.db, wall_us - wait_us, &e->now.tenant_id, err);
}

int erasure_tick(struct erasure *e, int64_t wall_us, struct error *err)
{
    int r = 0;

    if (!busy_begin(&e->busy))
        return 0;
    if (e->now.tenant_id == 0)
        r = begin(e, wall_us, err);
    if (r == 0 && e->now.tenant_id != 0) {
        e->spent_us = 0;
        e->job = (struct writer_job){
            .apply = erasure_apply, .done = erasure_done, .unbounded = true, .exclusive = true
        };
        r = writer_submit(e->options.writer, &e->job, err);
        if (r == 0)
            return 0;
    }
    busy_end(&e->busy);
    return r;
}
