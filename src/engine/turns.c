/* turns.c - lanes in a ring, found by their tenant. */
#include "engine/turns.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "engine/writer.h"

/* The writer's time per turn: about 25 single events. The service's own jobs are few, and all
 * tenants wait for some of them. */
enum { TURN_US = 500, SERVICE_TURN_US = 5000 };

enum { ORDER_US = 100000 }; /* to which the jobs of a lane are in order of asking */

struct lane {
    const struct budget *tenant; /* NULL: the service */
    bool administrative;
    struct job_list jobs;
    bool mixed;                  /* a caller may have asked long before the one of the job ahead */
    int64_t credit_us;           /* given and not used yet */
    struct lane *before, *after; /* in the ring */
    struct lane *next;           /* in its slot, or among the spare ones */
};

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

void turns_init(struct turns *t)
{
    *t = (struct turns){ 0 };
}

void turns_done(struct turns *t)
{
    assert(t->current == NULL && t->events == 0 && t->us == 0);
    while (t->spare != NULL) {
        struct lane *lane = t->spare;

        t->spare = lane->next;
        free(lane);
    }
}

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

bool turns_has_jobs_before(const struct turns *t, const struct writer_job *job)
{
    return find(t, job) != NULL;
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

/* Did its caller ask before that of the lane's last job? Threads that submit at the same time do
 * not count, but what was asked for takes other steps first. The service's own have no caller. */
static bool is_behind(const struct lane *lane, const struct writer_job *job)
{
    const struct writer_job *last = CONTAINER_OF(lane->jobs.last, struct writer_job, next);

    return last->since_us == 0 || job->since_us < last->since_us - ORDER_US;
}

void turns_add(struct turns *t, struct writer_job *job)
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

struct writer_job *turns_next(struct turns *t)
{
    if (t->current == NULL)
        return NULL;
    while (t->n_lanes > 1 && t->current->credit_us < t->current->jobs.first->cost_us) {
        t->current = t->current->after;
        give_turn(t->current);
    }
    return t->current->jobs.first;
}

/* Does it need a group of another place? */
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

/* Notes a lane whose turn it is and that has to wait for a group of its own kind. */
static void pass_over(struct turns *t, struct lane *lane, const struct turns_choice *choice)
{
    if (t->passed_over == NULL && is_of_another(lane->jobs.first, choice))
        t->passed_over = lane;
}

void turns_end_group(struct turns *t)
{
    struct lane *lane = t->passed_over;

    t->passed_over = NULL;
    if (lane == NULL || lane == t->current)
        return;
    t->current = lane;
    give_turn(lane);
}

struct writer_job *turns_next_of(struct turns *t, const struct turns_choice *choice)
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

struct writer_job *turns_take(struct turns *t)
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

void turns_take_old(struct turns *t, int64_t before_us, struct job_list *list)
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

void turns_count(const struct turns *t, size_t *ret_tenants, size_t *ret_largest)
{
    const struct lane *lane = t->current;

    *ret_tenants = *ret_largest = 0;
    for (size_t i = 0; i < t->n_lanes; i++, lane = lane->after) {
        if (lane->tenant == NULL || lane->administrative)
            continue;
        ++*ret_tenants;
        if (lane->jobs.events > *ret_largest)
            *ret_largest = lane->jobs.events;
    }
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

/* As deep as the logarithm of the number of jobs. */
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
