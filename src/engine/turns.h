/* turns.h - the writer's queue, in which tenants take turns.
 *
 * Jobs wait in one lane per tenant, in order of arrival, and administrative ones
 * in a second; the service's own jobs have a lane too. In its turn a lane is given some of the
 * writer's time, and its jobs are taken as far as their expected cost is covered; what is left
 * counts for its next turn (deficit round robin). So a tenant's queue, however
 * long or costly, delays the others by one turn.
 *
 * Invariants:
 *  1. A lane exists only while it has jobs.
 *  2. The jobs of a lane are taken in the order in which they were added.
 *  3. `events`, `bytes` and `us` are the sums over all jobs in all lanes.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/budget.h"

struct lane;
struct writer_job;

/* The tenant's node: the one just below the service. NULL: the service itself. */
static inline struct budget *share_of(struct budget *b)
{
    while (b != NULL && b->parent != NULL && b->parent->parent != NULL)
        b = b->parent;
    return b;
}

/* Jobs in an order. */
struct job_list {
    struct writer_job *first, **last;
    size_t events, bytes;
    int64_t us; /* expected cost */
};

void job_list_init(struct job_list *list);
void job_list_add(struct job_list *list, struct writer_job *job);

/* Appends all of `from`, which is empty after it. */
void job_list_move(struct job_list *list, struct job_list *from);

/* By tenant, then by agent; jobs of one agent stay in the order in which they came. */
void job_list_sort(struct job_list *list);

/* The first; the list is not empty. */
struct writer_job *job_list_take(struct job_list *list);

enum { LANE_SLOTS = 256 };

struct turns {
    struct lane *current; /* whose turn it is; the lanes are a ring. NULL: no jobs */
    struct lane
        *passed_over; /* whose turn came first during this group, of another place; or NULL */
    struct lane *slots[LANE_SLOTS], *spare;
    size_t n_lanes;
    size_t events, bytes;
    int64_t us;
};

void turns_init(struct turns *t);

/* No jobs may be left. */
void turns_done(struct turns *t);

/* Are there other jobs in the lane of this one? */
bool turns_has_jobs_before(const struct turns *t, const struct writer_job *job);

void turns_add(struct turns *t, struct writer_job *job);

/* The job whose turn it is, which stays queued; NULL: the queue is empty. */
struct writer_job *turns_next(struct turns *t);

/* Which jobs may be taken. */
struct turns_choice {
    const struct budget *spared; /* NULL, or the tenant whose jobs may cost at most `most_us` */
    int64_t most_us;
    bool by_place; /* only jobs of `place` */
    int64_t place;
};

/* The same among lanes whose next job may be taken; NULL: no such job. The other lanes lose no
 * turn. */
struct writer_job *turns_next_of(struct turns *t, const struct turns_choice *choice);

/* The group is complete: the next one begins with a lane that was passed over for its place. */
void turns_end_group(struct turns *t);

/* Takes the job that turns_next() returned. */
struct writer_job *turns_take(struct turns *t);

/* Moves jobs whose callers asked before `before_us` to the end of `list`. */
void turns_take_old(struct turns *t, int64_t before_us, struct job_list *list);

/* How many tenants have jobs in the queue, and the most events that one of them has; administrative
 * jobs do not count. */
void turns_count(const struct turns *t, size_t *ret_tenants, size_t *ret_largest);
