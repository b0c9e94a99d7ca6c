/* job_queue.h - which jobs the writer accepts, and which of them form the next group.
 *
 * Accepted is what fits into the queue and into the tenant's share of it; taken
 * is what has its turn (turns.h), as much as one transaction should hold.
 *
 * One thread at a time: the writer's lock guards it.
 */
#pragma once
#include <stdbool.h>

#include "engine/turns.h"
#include "engine/writer.h"

enum {
    WRITERS_MAX = 8,
    PARTS_AWAY_MAX = 32,
    AWAY_S = 5,

    /* What a second writer's group should take at least, and how long it waits for that much. */
    SPARE_GROUP_US = 500,
    SPARE_WAIT_US = 2000,

    /* The same while other nodes write to the database as well: their groups use it while the first
     * writer's is synced, and larger groups cost it less. */
    CROWDED_GROUP_US = 5000,
    CROWDED_WAIT_US = 20000,
};

struct job_queue {
    struct writer_limits limits;
    size_t n_writers; /* that take groups */
    /* By writer: whose costly job it has, one that takes longer than a group should; NULL: none. */
    const struct budget *costly[WRITERS_MAX];
    struct turns turns;
    bool parted;                   /* some jobs had a part */
    int64_t group_us[WRITERS_MAX]; /* by writer: what its group should take; 0: it has none */
    int64_t took_us[WRITERS_MAX];  /* by writer: raw clock, when it took its last group */
    int64_t part_of[WRITERS_MAX];  /* by writer: the part of its group; 0: unknown, or several */
    struct {
        int64_t part, until_us; /* raw clock: it counts as away until then; 0: not used */
        int64_t doubted_us;     /* raw clock: until then one writer at a time tries it */
        bool hung, stuck;
    } away[PARTS_AWAY_MAX];           /* those that failed last */
    int64_t sync_us;                  /* moving average of what a commit adds to its group */
    const struct budget *last_tenant; /* whose job was taken last; compared only, it may be gone */
    int64_t shared_until_us;          /* monotonic; before it, several tenants write */
    int64_t late_before_us; /* raw clock: whose caller asked before then is late for this group */
};

void job_queue_init(struct job_queue *q, const struct writer_limits *limits, size_t n_writers);

/* No jobs may be left. */
void job_queue_done(struct job_queue *q);

bool job_queue_is_empty(const struct job_queue *q);

/* Adds a job whose cost_us is set. ERR_BUSY: there is no room for it. */
int job_queue_add(struct job_queue *q, struct writer_job *job, struct error *err) MUST_CHECK;

/* Until when, by the raw clock, this writer should wait for a group of SPARE_GROUP_US, or while
 * crowded CROWDED_GROUP_US, because another works on one that it took a moment ago. A transaction
 * costs the database about as much as ten single events do, so small groups side by side are slower
 * than one after the other. */
int64_t job_queue_spare_until(const struct job_queue *q, size_t writer, bool crowded);

/* The last group of this writer has ended. */
void job_queue_end_group(struct job_queue *q, size_t writer);

/* Takes the jobs of one transaction for this writer, which has no group. While several
 * tenants write, costly jobs of one of them have all writers but one: what the others send
 * meanwhile need not wait for them. All jobs of a group have one part. The parts that are away have
 * one writer at a time, all together, and while one hangs so do jobs without a part, which may need
 * its server too: the other writers go on with what can be stored. So there may be none to take
 * although the queue is not empty. Jobs that are late are not put together with others, which
 * would have as little time as they. */
void job_queue_take_group(struct job_queue *q, size_t writer, int64_t now_us,
                          struct job_list *ret_group);

/* What a group or a read of this part met at `raw_us`. PART_UNKNOWN: after READ_TRIES, the next
 * read may try instead. */
void job_queue_note_part(struct job_queue *q, int64_t part, enum part_state state, int64_t raw_us);

bool job_queue_is_away(const struct job_queue *q, int64_t part, int64_t raw_us);
bool job_queue_any_is_away(const struct job_queue *q, int64_t raw_us);

/* Does its server hang? */
bool job_queue_part_hangs(const struct job_queue *q, int64_t part, int64_t raw_us);

/* The same for a read that is about to begin. After READ_TRIES, what it met is to be noted. */
enum part_read job_queue_try_read(struct job_queue *q, int64_t part, int64_t raw_us);

/* Does a server hang that a job without a part may need? */
bool job_queue_any_hangs(const struct job_queue *q, int64_t raw_us);

/* May a job of this part have to wait for a server that is away? */
bool job_queue_is_doubtful(const struct job_queue *q, int64_t part, int64_t raw_us);

/* How long a job may wait for its turn, so that a commit as long as the usual one is in time. */
int64_t job_queue_turn_max(const struct job_queue *q);

/* The jobs whose callers asked before `before_us`, by the raw clock. */
void job_queue_take_old(struct job_queue *q, int64_t before_us, struct job_list *ret);

void job_queue_take_all(struct job_queue *q, struct job_list *ret);

/* Until when, by the raw clock, the database may take its time for a group, so that the caller who
 * asked first is answered in time. 0: as long as the driver allows, for the service's own. */
int64_t job_queue_patience(const struct writer_limits *limits, const struct job_list *group);

/* The commit of a group took this long, after its jobs were applied. */
void job_queue_note_sync(struct job_queue *q, int64_t us);

void job_queue_stats(const struct job_queue *q, struct writer_queue *ret);
