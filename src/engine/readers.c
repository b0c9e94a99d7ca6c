/* readers.c - the queue of reads, the connections, and the threads that run the jobs.
 *
 * 1. There are as many threads as connections, and a thread holds one only while it runs a job: if
 *    none is free, an inline caller has one and will return it.
 * 2. A thread waits only while no queued job may run. A new job, a returned connection (which also
 *    frees its tenant's share) and the stop can change that: each wakes one thread, or all, and a
 *    thread that takes a job wakes the next if more are queued.
 */
#include "engine/readers.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "db/embedded.h"
#include "db/servers.h"
#include "engine/job_queue.h"

/* The deadline of an inline read. A page or a lookup by key takes a tenth of it, so a read that
 * misses it is not short, or was preempted: under full ingest load 24 of 3,000 short reads missed a
 * deadline of 1 ms, and one a deadline of 2 ms. It is less than a scheduler tick, which a detour
 * over another thread may cost. */
enum { INLINE_DEADLINE_US = 2000 };

/* The deadline cannot interrupt a wait for the disk. So that loops do not block repeatedly, after a
 * wait of BLOCKED_US all reads go to reader threads for a while. */
enum { BLOCKED_US = 5000, INLINE_PAUSE_US = USEC_PER_SEC };

struct connection {
    struct connection *next; /* in the stack of free ones */
    struct db *db;
    const struct budget *tenant; /* for which it is used; NULL: free, or the service itself */
};

struct readers {
    pthread_t *threads;
    size_t n_threads;
    struct connection *connections;
    size_t n_connections;

    size_t queue_max;
    int64_t wait_max_us;

    struct lock lock;    /* also guards `next` and `tenant` of each connection */
    struct cond changed; /* see 2 above */
    struct reader_job *first GUARDED_BY(lock), **last GUARDED_BY(lock);
    size_t n_queued GUARDED_BY(lock);
    struct connection *free GUARDED_BY(lock); /* a stack: the last one used has a warm cache */
    size_t n_lent GUARDED_BY(lock);           /* to callers of readers_run_inline() */
    int64_t lends_from_us GUARDED_BY(lock);   /* monotonic; no inline reads before */
    bool stopping GUARDED_BY(lock);
};

static void enqueue(struct readers *r, struct reader_job *job) REQUIRES(r->lock)
{
    struct reader_job **at = r->last;

    if (job->ahead)
        for (at = &r->first; *at != NULL && (*at)->ahead;)
            at = &(*at)->next;
    job->since_us = job->asked_us != 0 ? job->asked_us : clock_raw_us();
    job->next = *at;
    *at = job;
    if (job->next == NULL)
        r->last = &job->next;
    r->n_queued++;
}

static bool has_room(const struct readers *r, const struct reader_job *job) REQUIRES(r->lock)
{
    return r->n_queued < r->queue_max + (job->ahead ? r->queue_max / 2 : 0);
}

int readers_submit(struct readers *r, struct reader_job *job, struct error *err)
{
    int status = -1;

    lock_acquire(&r->lock);
    if (r->stopping) {
        err_set(err, ERR_BUSY, "the service is stopping");
    } else if (!has_room(r, job)) {
        err_set(err, ERR_BUSY, "too many reads are queued");
    } else if (job->budget != NULL && !budget_take(job->budget, BUDGET_READS, 1)) {
        err_set(err, ERR_BUSY, "too many reads of this tenant are queued");
    } else {
        enqueue(r, job);
        cond_signal(&r->changed);
        status = 0;
    }
    lock_release(&r->lock);
    if (status != 0)
        metric_add(METRIC_BUSY_READERS, 1);
    return status;
}

size_t readers_waiting(struct readers *r)
{
    size_t n;

    lock_acquire(&r->lock);
    n = r->n_queued;
    lock_release(&r->lock);
    return n;
}

/* How many connections are in use for this tenant. */
static size_t count_running(const struct readers *r, const struct budget *tenant) REQUIRES(r->lock)
{
    size_t n = 0;

    for (size_t i = 0; tenant != NULL && i < r->n_connections; i++)
        n += r->connections[i].tenant == tenant;
    return n;
}

/* May a tenant that has `running` connections in use have another? Half of them are left to others,
 * and the memory that large reads take meanwhile is that of half of them. */
static bool may_run(const struct readers *r, size_t running) REQUIRES(r->lock)
{
    return running == 0 || running < r->n_connections / 2 || r->stopping;
}

static struct connection *pop(struct readers *r, const struct budget *tenant) REQUIRES(r->lock)
{
    struct connection *c = r->free;

    assert(c != NULL && c->tenant == NULL);
    r->free = c->next;
    c->tenant = tenant;
    return c;
}

static void push(struct readers *r, struct connection *c) REQUIRES(r->lock)
{
    assert(c != r->free);
    c->tenant = NULL;
    c->next = r->free;
    r->free = c;
}

/* The place of the next job: of those that may run, the first of a tenant with the fewest
 * connections in use; NULL when no job may run. */
static struct reader_job **find_next(struct readers *r) REQUIRES(r->lock)
{
    size_t fewest = r->n_connections;
    struct reader_job **next = NULL;

    for (struct reader_job **at = &r->first; *at != NULL && fewest > 0; at = &(*at)->next) {
        size_t running = count_running(r, share_of((*at)->budget));

        if (running >= fewest || !may_run(r, running))
            continue;
        fewest = running;
        next = at;
    }
    return next;
}

/* Removes the next job; NULL when no job may run or no connection is free. */
static struct reader_job *unqueue(struct readers *r) REQUIRES(r->lock)
{
    struct reader_job **at = r->free == NULL ? NULL : find_next(r), *job;

    if (at == NULL)
        return NULL;
    job = *at;
    *at = job->next;
    if (*at == NULL)
        r->last = at;
    assert(r->n_queued > 0);
    r->n_queued--;
    return job;
}

/* Returns *c to the pool, if set, and takes a job and a connection for it. NULL when stopping and
 * the queue is empty. */
static struct reader_job *take_job(struct readers *r, struct connection **c)
{
    struct reader_job *job;

    lock_acquire(&r->lock);
    if (*c != NULL)
        push(r, *c);
    while ((job = unqueue(r)) == NULL && !(r->stopping && r->first == NULL))
        cond_wait(&r->changed, &r->lock);
    *c = job == NULL ? NULL : pop(r, share_of(job->budget));
    if (r->first != NULL) /* a job that a waiting thread had to skip may now be able to run */
        cond_signal(&r->changed);
    lock_release(&r->lock);
    return job;
}

static void finish(struct reader_job *job, const struct error *err)
{
    if (job->budget != NULL)
        budget_give(job->budget, BUDGET_READS, 1);
    job->done(job, err);
}

static void refuse(struct reader_job *job)
{
    struct error err;

    err_set(&err, ERR_BUSY, "the read waited too long");
    metric_add(METRIC_BUSY_READERS, 1);
    finish(job, &err);
}

static void answer(const struct readers *r, struct reader_job *job, struct db *db)
{
    const int64_t began_us = job->since_us;
    struct error err = { 0 };
    int status;

    assert(thread_may_be("muster-reader"));
    db_set_place(db, db_place_of(db, job->tenant_id));
    status = job->run(job, db, &err);
    if (r->wait_max_us == 0 && job->asked_us != 0)
        job->asked_us += clock_raw_us() - began_us;
    finish(job, status == 0 ? NULL : &err);
}

static bool waited_too_long(const struct readers *r, const struct reader_job *job)
{
    return r->wait_max_us != 0 && clock_raw_us() - job->since_us > r->wait_max_us;
}

static void *reader_main(void *arg)
{
    struct readers *r = arg;
    struct connection *c = NULL;
    struct reader_job *job;

    thread_begin("muster-reader", THREAD_PLAIN);
    while ((job = take_job(r, &c)) != NULL) {
        if (waited_too_long(r, job))
            refuse(job);
        else
            answer(r, job, c->db);
    }
    return NULL;
}

/* A connection for an inline read; NULL when a reader thread should run it. */
static struct connection *lend_connection(struct readers *r, const struct budget *tenant)
{
    const int64_t now_us = clock_raw_us();
    struct connection *c = NULL;

    lock_acquire(&r->lock);
    if (!r->stopping && now_us >= r->lends_from_us && r->first == NULL && r->free != NULL &&
        may_run(r, count_running(r, tenant)) &&
        db_set_deadline(r->free->db, now_us + INLINE_DEADLINE_US)) {
        c = pop(r, tenant);
        r->n_lent++;
    }
    lock_release(&r->lock);
    return c;
}

static void return_connection(struct readers *r, struct connection *c, bool was_blocked)
{
    (void)db_set_deadline(c->db, 0);
    lock_acquire(&r->lock);
    push(r, c);
    assert(r->n_lent > 0);
    r->n_lent--;
    if (was_blocked)
        r->lends_from_us = clock_raw_us() + INLINE_PAUSE_US;
    if (r->stopping) /* wakes waiting threads and readers_free() */
        cond_broadcast(&r->changed);
    else if (r->first != NULL)
        cond_signal(&r->changed);
    lock_release(&r->lock);
}

/* How often this thread has blocked; preemptions do not count. */
static long voluntary_switches(void)
{
    struct rusage usage = { 0 };

    (void)getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* Runs a job; *ret_blocked says whether it waited for something other than the processor. */
static int run_timed(struct reader_job *job, struct db *db, bool *ret_blocked, struct error *err)
{
    const int64_t began_us = clock_raw_us();
    const long switches = voluntary_switches();
    const int status = job->run(job, db, err);

    *ret_blocked = clock_raw_us() - began_us > BLOCKED_US && voluntary_switches() > switches;
    return status;
}

bool readers_run_inline(struct readers *r, struct reader_job *job)
{
    struct connection *c = lend_connection(r, share_of(job->budget));
    struct error err = { 0 };
    bool blocked;
    int status;

    if (c == NULL)
        return false;
    status = run_timed(job, c->db, &blocked, &err);
    return_connection(r, c, blocked); /* before done(), which needs no connection and takes time */
    if (status != 0 && (err.code == ERR_BUSY || err.code == ERR_UNAVAILABLE)) {
        metric_add(METRIC_READS_PASSED_ON, 1);
        return false;
    }
    metric_add(METRIC_READS_HERE, 1);
    job->done(job, status == 0 ? NULL : &err);
    return true;
}

int readers_new(struct db *const *dbs, size_t n, size_t queue_max, int64_t wait_max_us,
                struct readers **ret, struct error *err)
{
    struct readers *r = NEW(struct readers);

    lock_init(&r->lock);
    r->queue_max = queue_max;
    r->wait_max_us = wait_max_us;
    r->last = &r->first;
    cond_init(&r->changed);
    r->threads = mem_new(n * sizeof(*r->threads));
    r->connections = mem_new(n * sizeof(*r->connections));
    r->n_connections = n;
    for (size_t i = 0; i < n; i++) {
        r->connections[i].db = dbs[i];
        push(r, &r->connections[i]);
    }
    for (; r->n_threads < n; r->n_threads++)
        if (pthread_create(&r->threads[r->n_threads], NULL, reader_main, r) != 0) {
            readers_free(r);
            return err_set(err, ERR_INTERNAL, "cannot start a reader thread");
        }
    *ret = r;
    return 0;
}

void readers_free(struct readers *r)
{
    if (r == NULL)
        return;
    lock_acquire(&r->lock);
    r->stopping = true;
    cond_broadcast(&r->changed);
    lock_release(&r->lock);
    for (size_t i = 0; i < r->n_threads; i++)
        pthread_join(r->threads[i], NULL);
    lock_acquire(&r->lock);
    while (r->n_lent > 0)
        cond_wait(&r->changed, &r->lock);
    assert(r->first == NULL && r->n_queued == 0); /* each job's done() was called */
    lock_release(&r->lock);
    cond_done(&r->changed);
    lock_done(&r->lock);
    free(r->threads);
    free(r->connections);
    free(r);
}
