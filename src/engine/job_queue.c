/* job_queue.c - lanes in a ring that take turns, room in the queue, shares of it, and the size of
 * groups. */
#include "engine/job_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

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

/* The writer's time per turn: about 25 single events. The service's own jobs are few, and all
 * tenants wait for some of them. */
enum { TURN_US = 500, SERVICE_TURN_US = 5000 };

enum { ORDER_US = 100000 }; /* requests less than 100 ms apart count as in order */

/* --- lists of jobs --- */

void job_list_init(struct job_list *list)
{
    *list = (struct job_list){ .last = &list->first };
}

void job_list_add(struct job_list *list, struct writer_job *job)
{
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
    list->events += job->events;
    list->bytes += job->bytes;
    list->us += job->cost_us;
}

void job_list_move(struct job_list *list, struct job_list *from)
{
    if (from->first != NULL) {
        *list->last = from->first;
        list->last = from->last;
        list->events += from->events;
        list->bytes += from->bytes;
        list->us += from->us;
    }
    job_list_init(from);
}

struct writer_job *job_list_take(struct job_list *list)
{
    struct writer_job *job = list->first;

    assert(job != NULL && list->events >= job->events && list->bytes >= job->bytes);
    list->first = job->next;
    if (list->first == NULL)
        list->last = &list->first;
    list->events -= job->events;
    list->bytes -= job->bytes;
    list->us -= job->cost_us;
    return job;
}

static bool is_before(const struct writer_job *a, const struct writer_job *b)
{
    if (a->tenant_id != b->tenant_id)
        return a->tenant_id < b->tenant_id;
    return str_cmp(a->agent_name, b->agent_name) < 0;
}

static struct writer_job *merge(struct writer_job *a, struct writer_job *b)
{
    struct writer_job *first = NULL, **last = &first;

    while (a != NULL && b != NULL) {
        struct writer_job **next = is_before(b, a) ? &b : &a;

        *last = *next;
        last = &(*next)->next;
        *next = *last;
    }
    *last = a != NULL ? a : b;
    return first;
}

/* Cuts the list after its first half and returns the second. */
static struct writer_job *halve(struct writer_job *list)
{
    struct writer_job *slow = list, *fast = list->next, *rest;

    while (fast != NULL && fast->next != NULL) {
        slow = slow->next;
        fast = fast->next->next;
    }
    rest = slow->next;
    slow->next = NULL;
    return rest;
}

/* Merge sort; the recursion depth is the logarithm of the number of jobs. */
static struct writer_job *sort(struct writer_job *list)
{
    struct writer_job *rest;

    if (list == NULL || list->next == NULL)
        return list;
    rest = halve(list);
    list = sort(list);
    return merge(list, sort(rest));
}

void job_list_sort(struct job_list *list)
{
    list->first = sort(list->first);
    list->last = &list->first;
    while (*list->last != NULL)
        list->last = &(*list->last)->next;
}

/* --- lanes and their turns --- */

/* Which jobs may be taken. */
struct turns_choice {
    const struct budget *spared; /* NULL, or the tenant whose jobs may cost at most `most_us` */
    int64_t most_us;
    bool by_place; /* only jobs of `place` */
    int64_t place;
};

struct lane {
    const struct budget *tenant; /* NULL: the service */
    bool administrative;
    struct job_list jobs;
    bool mixed;                  /* a caller may have asked long before the one of the job ahead */
    int64_t credit_us;           /* given and not used yet */
    struct lane *before, *after; /* in the ring */
    struct lane *next;           /* in its slot, or among the spare ones */
};

/* Nodes are allocated by the service, not chosen by clients, so no keyed hash is needed. */
static size_t slot_of(const struct budget *tenant)
{
    static_assert(LANE_SLOTS == 1 << 8, "of the top eight bits");
    return (size_t)(((uint64_t)(uintptr_t)tenant * 0x9e3779b97f4a7c15U) >> 56);
}

static struct lane *find(const struct turns *t, const struct writer_job *job)
{
    const struct budget *tenant = share_of(job->budget);
    struct lane *lane = t->slots[slot_of(tenant)];

    while (lane != NULL && !(lane->tenant == tenant && lane->administrative == job->administrative))
        lane = lane->next;
    return lane;
}

static void give_turn(struct lane *lane)
{
    lane->credit_us += lane->tenant == NULL ? SERVICE_TURN_US : TURN_US;
}

/* As the last in the ring: before the one whose turn it is. */
static void link_lane(struct turns *t, struct lane *lane)
{
    struct lane **slot = &t->slots[slot_of(lane->tenant)];

    lane->next = *slot;
    *slot = lane;
    t->n_lanes++;
    if (t->current == NULL) {
        lane->before = lane->after = t->current = lane;
        give_turn(lane);
        return;
    }
    lane->after = t->current;
    lane->before = t->current->before;
    lane->before->after = lane;
    lane->after->before = lane;
}

static struct lane *add_lane(struct turns *t, const struct writer_job *job)
{
    struct lane *lane = t->spare;

    if (lane != NULL)
        t->spare = lane->next;
    else
        lane = NEW(struct lane);
    *lane = (struct lane){ .tenant = share_of(job->budget), .administrative = job->administrative };
    job_list_init(&lane->jobs);
    link_lane(t, lane);
    return lane;
}

/* If it was its turn, it is the next one's. */
static void remove_lane(struct turns *t, struct lane *lane)
{
    struct lane **at = &t->slots[slot_of(lane->tenant)];

    while (*at != lane)
        at = &(*at)->next;
    *at = lane->next;
    t->n_lanes--;
    if (t->passed_over == lane)
        t->passed_over = NULL;
    lane->before->after = lane->after;
    lane->after->before = lane->before;
    if (t->current == lane) {
        t->current = t->n_lanes == 0 ? NULL : lane->after;
        if (t->current != NULL)
            give_turn(t->current);
    }
    lane->next = t->spare;
    t->spare = lane;
}

/* Did the caller of this job ask more than ORDER_US before the caller of the lane's last job? That
 * happens when a request takes other steps before it submits a job. Smaller differences come from
 * threads that submit at the same time. The service's own jobs have no caller. */
static bool is_behind(const struct lane *lane, const struct writer_job *job)
{
    const struct writer_job *last = CONTAINER_OF(lane->jobs.last, struct writer_job, next);

    return last->since_us == 0 || job->since_us < last->since_us - ORDER_US;
}

static void turns_add(struct turns *t, struct writer_job *job)
{
    struct lane *lane = find(t, job);

    if (lane == NULL)
        lane = add_lane(t, job);
    else
        lane->mixed = lane->mixed || is_behind(lane, job);
    job_list_add(&lane->jobs, job);
    t->events += job->events;
    t->bytes += job->bytes;
    t->us += job->cost_us;
}

/* Does the job's place differ from that of the group? */
static bool is_of_another(const struct writer_job *job, const struct turns_choice *choice)
{
    return choice->by_place && job->place != choice->place;
}

static bool is_spared(const struct lane *lane, const struct turns_choice *choice)
{
    const struct writer_job *job = lane->jobs.first;

    return (choice->spared != NULL && lane->tenant == choice->spared &&
            job->cost_us > choice->most_us) ||
           is_of_another(job, choice);
}

/* Remembers the first lane that lost its turn because its job belongs to another place. */
static void pass_over(struct turns *t, struct lane *lane, const struct turns_choice *choice)
{
    if (t->passed_over == NULL && is_of_another(lane->jobs.first, choice))
        t->passed_over = lane;
}

/* The group is complete. If a lane was passed over because of its place, the next group begins with
 * it. */
static void turns_end_group(struct turns *t)
{
    struct lane *lane = t->passed_over;

    t->passed_over = NULL;
    if (lane == NULL || lane == t->current)
        return;
    t->current = lane;
    give_turn(lane);
}

/* The job whose turn it is, which stays queued, among lanes whose next job may be taken; NULL: no
 * such job. The other lanes lose no turn. */
static struct writer_job *turns_next(struct turns *t, const struct turns_choice *choice)
{
    struct lane *lane = t->current;
    size_t n = t->n_lanes;

    while (n > 0 && is_spared(lane, choice)) {
        pass_over(t, lane, choice);
        lane = lane->after;
        n--;
    }
    if (n == 0)
        return NULL;
    if (lane != t->current) {
        t->current = lane;
        give_turn(lane);
    }
    while (t->n_lanes > 1 && (is_spared(t->current, choice) ||
                              t->current->credit_us < t->current->jobs.first->cost_us)) {
        t->current = t->current->after;
        if (is_spared(t->current, choice))
            pass_over(t, t->current, choice);
        else
            give_turn(t->current);
    }
    return t->current->jobs.first;
}

static void subtract(struct turns *t, const struct writer_job *job)
{
    t->events -= job->events;
    t->bytes -= job->bytes;
    t->us -= job->cost_us;
}

/* The lane's first job; a lane without jobs goes. */
static struct writer_job *take_first(struct turns *t, struct lane *lane)
{
    struct writer_job *job = job_list_take(&lane->jobs);

    subtract(t, job);
    if (lane->jobs.first == NULL)
        remove_lane(t, lane);
    return job;
}

/* Takes the job that turns_next() returned. */
static struct writer_job *turns_take(struct turns *t)
{
    struct lane *lane = t->current;
    int64_t cost_us = lane->jobs.first->cost_us;

    assert(t->n_lanes == 1 || lane->credit_us >= cost_us);
    lane->credit_us = lane->credit_us > cost_us ? lane->credit_us - cost_us : 0;
    return take_first(t, lane);
}

static bool is_late(const struct writer_job *job, int64_t before_us)
{
    return job->since_us != 0 && job->since_us < before_us;
}

/* Of all jobs of a lane; the others keep their order. */
static void take_old_of_all(struct turns *t, struct lane *lane, int64_t before_us,
                            struct job_list *list)
{
    const struct writer_job *last = CONTAINER_OF(lane->jobs.last, struct writer_job, next);
    struct writer_job *job;

    do {
        job = job_list_take(&lane->jobs);
        if (is_late(job, before_us))
            subtract(t, job);
        job_list_add(is_late(job, before_us) ? list : &lane->jobs, job);
    } while (job != last);
    if (lane->jobs.first == NULL)
        remove_lane(t, lane);
}

/* Moves jobs whose callers asked before `before_us` to the end of `list`. */
static void turns_take_old(struct turns *t, int64_t before_us, struct job_list *list)
{
    struct lane *lane = t->current;

    for (size_t n = t->n_lanes; n > 0; n--) {
        struct lane *after = lane->after;
        size_t lanes = t->n_lanes;

        if (lane->mixed)
            take_old_of_all(t, lane, before_us, list);
        else
            while (t->n_lanes == lanes && is_late(lane->jobs.first, before_us))
                job_list_add(list, take_first(t, lane));
        lane = after;
    }
}

/* --- the queue --- */

void job_queue_init(struct job_queue *q, const struct writer_limits *limits, size_t n_writers)
{
    assert(n_writers <= WRITERS_MAX);
    *q = (struct job_queue){ .limits = *limits, .n_writers = n_writers };
}

void job_queue_done(struct job_queue *q)
{
    assert(q->turns.current == NULL && q->turns.events == 0 && q->turns.us == 0);
    while (q->turns.spare != NULL) {
        struct lane *lane = q->turns.spare;

        q->turns.spare = lane->next;
        free(lane);
    }
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

/* The longest expected wait with which a job is accepted. It is less than wait_max_ms: a job that
 * waits for all of that time fails, and the health check reports the writer as stalled. */
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

/* An empty queue accepts a job of any size, and so does a tenant's share when it is unused. */
int job_queue_add(struct job_queue *q, struct writer_job *job, struct error *err)
{
    bool first = find(&q->turns, job) == NULL;

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

/* Records the tenant of the job that is taken, to detect that several tenants write. */
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

/* The tenant whose expensive jobs occupy all writers but one, or NULL. */
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
    return turns_next(&q->turns, &choice);
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
    while (turns_next(&q->turns, &(struct turns_choice){ 0 }) != NULL)
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
    const struct lane *lane = q->turns.current;

    *ret = (struct writer_queue){ .events = q->turns.events, .bytes = q->turns.bytes };
    for (size_t i = 0; i < q->turns.n_lanes; i++, lane = lane->after) {
        if (lane->tenant == NULL || lane->administrative)
            continue;
        ret->tenants++;
        if (lane->jobs.events > ret->tenant_largest)
            ret->tenant_largest = lane->jobs.events;
    }
}
