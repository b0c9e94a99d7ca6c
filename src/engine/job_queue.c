/* job_queue.c - room in the queue, shares of it, and the size of groups. */
#include "engine/job_queue.h"

#include <assert.h>

#include "base/clock.h"
#include "engine/turns.h"

enum {
    GROUP_BYTES = 8 << 20, /* of requests per transaction; the last one may exceed it */

    /* While several tenants write, a group takes about this long, or as long as two syncs if that
     * is more: what arrives meanwhile waits for all of it. A single tenant has groups as large as
     * the limits allow, since they share a sync. */
    GROUP_US = 10000,
    SHARED_US = USEC_PER_SEC, /* how long a second tenant counts after its last job */

    /* A tenant without queued jobs always finds room for one of this size. */
    ROOM_EVENTS = 100,
    ROOM_BYTES = 64 << 10,

    SYNC_US_MAX = 10 * USEC_PER_SEC,
};

void job_queue_init(struct job_queue *q, const struct writer_limits *limits, size_t n_writers)
{
    assert(n_writers <= WRITERS_MAX);
    *q = (struct job_queue){ .limits = *limits, .n_writers = n_writers };
    turns_init(&q->turns);
}

void job_queue_done(struct job_queue *q)
{
    turns_done(&q->turns);
}

bool job_queue_is_empty(const struct job_queue *q)
{
    return q->turns.current == NULL;
}

/* How long a new job will wait: for the cost of those before it, and a sync per group of them. */
static int64_t wait_us(const struct job_queue *q)
{
    int64_t groups = 1 + (int64_t)(q->turns.events / q->limits.group_max);

    return q->turns.us + groups * q->sync_us;
}

static int64_t wait_max_us(const struct job_queue *q)
{
    const int64_t max_us = (int64_t)q->limits.wait_max_ms * USEC_PER_MSEC;

    return max_us > USEC_PER_SEC ? max_us : USEC_PER_SEC;
}

/* How long one may expect to wait for a turn. It is less than one may wait, since health tells of
 * those who did wait for that long. */
static int64_t expected_max_us(const struct job_queue *q)
{
    const int64_t max_us = (int64_t)q->limits.wait_max_ms * USEC_PER_MSEC;

    return max_us > 2 * (int64_t)USEC_PER_SEC ? max_us - USEC_PER_SEC : max_us / 2;
}

/* Is the queue too long, by its size or by the time that it will take? */
static bool is_full(const struct job_queue *q, const struct writer_job *job)
{
    const struct writer_limits *limits = &q->limits;

    return q->turns.events + job->events > limits->events_max ||
           q->turns.bytes + job->bytes > limits->bytes_max ||
           (limits->wait_max_ms > 0 && wait_us(q) > expected_max_us(q));
}

static bool is_small(const struct writer_job *job)
{
    return job->events <= ROOM_EVENTS && job->bytes <= ROOM_BYTES;
}

static void force_share(const struct writer_job *job)
{
    if (job->budget == NULL)
        return;
    budget_force(job->budget, BUDGET_EVENTS, (int64_t)job->events);
    budget_force(job->budget, BUDGET_WRITER_US, job->cost_us);
}

static void give_share(const struct writer_job *job)
{
    if (job->budget == NULL)
        return;
    budget_give(job->budget, BUDGET_EVENTS, (int64_t)job->events);
    budget_give(job->budget, BUDGET_WRITER_US, job->cost_us);
}

/* False: the tenant's share is used up. */
static bool take_share(const struct writer_job *job)
{
    if (job->budget == NULL)
        return true;
    if (!budget_take(job->budget, BUDGET_EVENTS, (int64_t)job->events))
        return false;
    if (budget_take(job->budget, BUDGET_WRITER_US, job->cost_us))
        return true;
    budget_give(job->budget, BUDGET_EVENTS, (int64_t)job->events);
    return false;
}

/* A job of any size finds room in an empty queue; and one of any size fits into a share of which
 * nothing is used. */
int job_queue_add(struct job_queue *q, struct writer_job *job, struct error *err)
{
    bool first = !turns_has_jobs_before(&q->turns, job);

    if (!job->unbounded && !job_queue_is_empty(q) && !(first && is_small(job)) && is_full(q, job))
        return err_set(err, ERR_BUSY, "too many events are queued");
    if (job->unbounded || job->administrative || first)
        force_share(job);
    else if (!take_share(job))
        return err_set(err, ERR_BUSY, "too many events of this tenant are queued");
    turns_add(&q->turns, job);
    q->placed = q->placed || job->place != 0;
    return 0;
}

/* Notes whose job is taken, to know whether several tenants write. */
static void note_tenant(struct job_queue *q, const struct writer_job *job, int64_t now_us)
{
    const struct budget *tenant = share_of(job->budget);

    if (tenant == NULL || tenant == q->last_tenant)
        return;
    if (q->last_tenant != NULL)
        q->shared_until_us = now_us + SHARED_US;
    q->last_tenant = tenant;
}

static int64_t group_us_max(const struct job_queue *q, int64_t now_us)
{
    if (now_us >= q->shared_until_us)
        return INT64_MAX;
    return 2 * q->sync_us > GROUP_US ? 2 * q->sync_us : GROUP_US;
}

/* May the job be added to the group? An exclusive job is a group of its own. */
static bool fits(const struct job_queue *q, const struct job_list *group,
                 const struct writer_job *job, int64_t now_us)
{
    if (group->first == NULL)
        return true;
    return !job->exclusive && !group->first->exclusive && group->events < q->limits.group_max &&
           group->bytes < GROUP_BYTES && group->us + job->cost_us <= group_us_max(q, now_us);
}

static void take_next(struct job_queue *q, struct job_list *list)
{
    struct writer_job *job = turns_take(&q->turns);

    give_share(job);
    job_list_add(list, job);
}

static size_t writers_of(const struct job_queue *q, const struct budget *tenant)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n_writers; i++)
        n += q->costly[i] == tenant;
    return n;
}

/* The tenant whose costly jobs have all the writers that they may have; NULL: none. */
static const struct budget *tenant_at_its_most(const struct job_queue *q)
{
    for (size_t i = 0; q->n_writers > 1 && i < q->n_writers; i++)
        if (q->costly[i] != NULL && writers_of(q, q->costly[i]) + 1 >= q->n_writers)
            return q->costly[i];
    return NULL;
}

static struct writer_job *next_job(struct job_queue *q, const struct job_list *group,
                                   int64_t now_us)
{
    struct turns_choice choice = { .most_us = GROUP_US,
                                   .by_place = q->placed && group->first != NULL };

    if (choice.by_place)
        choice.place = group->first->place;
    if (now_us < q->shared_until_us)
        choice.spared = tenant_at_its_most(q);
    if (choice.spared == NULL && !choice.by_place)
        return turns_next(&q->turns);
    return turns_next_of(&q->turns, &choice);
}

int64_t job_queue_beside_until(const struct job_queue *q, size_t writer)
{
    int64_t until_us = 0;

    for (size_t i = 0; i < q->n_writers; i++)
        if (i != writer && q->group_us[i] > 0 && q->took_us[i] + BESIDE_WAIT_US > until_us)
            until_us = q->took_us[i] + BESIDE_WAIT_US;
    return until_us;
}

void job_queue_end_group(struct job_queue *q, size_t writer)
{
    assert(writer < q->n_writers);
    q->costly[writer] = NULL;
    q->group_us[writer] = 0;
}

void job_queue_take_group(struct job_queue *q, size_t writer, int64_t now_us,
                          struct job_list *ret_group)
{
    const struct writer_job *job;

    job_queue_end_group(q, writer);
    job_list_init(ret_group);
    while ((job = next_job(q, ret_group, now_us)) != NULL && fits(q, ret_group, job, now_us)) {
        note_tenant(q, job, now_us);
        take_next(q, ret_group);
        if (job->cost_us > GROUP_US)
            q->costly[writer] = share_of(job->budget);
    }
    if (ret_group->first != NULL) {
        assert(ret_group->us > 0);
        q->group_us[writer] = ret_group->us;
        q->took_us[writer] = clock_raw_us();
    }
    turns_end_group(&q->turns);
}

void job_queue_take_old(struct job_queue *q, int64_t raw_us, struct job_list *ret)
{
    job_list_init(ret);
    turns_take_old(&q->turns, raw_us - wait_max_us(q), ret);
    for (const struct writer_job *job = ret->first; job != NULL; job = job->next)
        give_share(job);
}

void job_queue_take_all(struct job_queue *q, struct job_list *ret)
{
    job_list_init(ret);
    while (turns_next(&q->turns) != NULL)
        take_next(q, ret);
}

void job_queue_note_sync(struct job_queue *q, int64_t us)
{
    if (us < 0)
        return; /* a test moved the clock */
    if (us > SYNC_US_MAX)
        us = SYNC_US_MAX; /* the machine slept: one such time must not refuse all that follows */
    q->sync_us = q->sync_us == 0 ? us : (q->sync_us * 9 + us) / 10;
}

void job_queue_stats(const struct job_queue *q, struct writer_queue *ret)
{
    *ret = (struct writer_queue){ .events = q->turns.events, .bytes = q->turns.bytes };
    turns_count(&q->turns, &ret->tenants, &ret->tenant_largest);
}
