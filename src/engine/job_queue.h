/* job_queue.h - which jobs the writer accepts, and which of them form the next group.
 *
 * A job is accepted if it fits into the queue and into the tenant's share of it. A group is made of
 * the jobs whose turn it is, as many as one transaction should hold.
 *
 * Jobs wait in one lane per tenant, in order of arrival, and administrative ones in a second; the
 * service's own jobs have a lane too. In its turn a lane is given some of the writer's time, and
 * its jobs are taken as far as their expected cost is covered; unused time is carried over to its
 * next turn (deficit round robin). So a tenant's queue, however long or costly, delays the others
 * by one turn.
 *
 * Invariants:
 *  1. A lane exists only while it has jobs.
 *  2. The jobs of a lane are taken in the order in which they were added.
 *  3. `events`, `bytes` and `us` are the sums over all jobs in all lanes.
 *
 * One thread at a time: the writer's lock guards it.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/budget.h"
#include "engine/job.h"

struct lane;

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

enum {
    /* The least cost of a group that runs beside another writer's, and how long a writer waits for
     * that much. */
    BESIDE_GROUP_US = 500,
    BESIDE_WAIT_US = 2000,
};

enum { LANE_SLOTS = 256 };

struct turns {
    struct lane *current;     /* whose turn it is; the lanes are a ring. NULL: no jobs */
    struct lane *passed_over; /* first lane that lost its turn because of its place */
    struct lane *slots[LANE_SLOTS], *spare;
    size_t n_lanes;
    size_t events, bytes;
    int64_t us;
};

struct job_queue {
    struct writer_limits limits;
    size_t n_writers; /* that take groups */
    /* By writer: the tenant whose expensive job (longer than a group should take) it runs; NULL: it
     * runs none. */
    const struct budget *costly[WRITERS_MAX];
    struct turns turns;
    bool placed;                      /* some jobs had a place */
    int64_t group_us[WRITERS_MAX];    /* by writer: what its group should take; 0: it has none */
    int64_t took_us[WRITERS_MAX];     /* by writer: raw clock, when it took its last group */
    int64_t sync_us;                  /* moving average of what a commit adds to its group */
    const struct budget *last_tenant; /* whose job was taken last; compared only, it may be gone */
    int64_t shared_until_us;          /* monotonic; before it, several tenants write */
};

void job_queue_init(struct job_queue *q, const struct writer_limits *limits, size_t n_writers);

/* No jobs may be left. */
void job_queue_done(struct job_queue *q);

bool job_queue_is_empty(const struct job_queue *q);

/* Adds a job whose cost_us is set. ERR_BUSY: there is no room for it. */
int job_queue_add(struct job_queue *q, struct writer_job *job, struct error *err) MUST_CHECK;

/* Until when, by the raw clock, this writer should wait for a group of BESIDE_GROUP_US, because
 * another works on one that it took a moment ago; 0: there is no other. A transaction costs the
 * database about as much as ten single events do, so small groups side by side are slower than one
 * after the other. */
int64_t job_queue_beside_until(const struct job_queue *q, size_t writer);

/* The last group of this writer has ended. */
void job_queue_end_group(struct job_queue *q, size_t writer);

/* Takes the jobs of one transaction for this writer, which has no group. While several tenants
 * write, the expensive jobs of one tenant may occupy all writers but one, so that the other
 * tenants' jobs need not wait for them. *ret_group may therefore be empty although the queue is
 * not. All jobs of a group belong to one place: a group on two servers would need a two-phase
 * commit, and fail when either server is unavailable. */
void job_queue_take_group(struct job_queue *q, size_t writer, int64_t now_us,
                          struct job_list *ret_group);

/* The jobs whose callers have waited for a turn for as long as they may. */
void job_queue_take_old(struct job_queue *q, int64_t raw_us, struct job_list *ret);

void job_queue_take_all(struct job_queue *q, struct job_list *ret);

/* The commit of a group took this long, after its jobs were applied. */
void job_queue_note_sync(struct job_queue *q, int64_t us);

void job_queue_stats(const struct job_queue *q, struct writer_queue *ret);
