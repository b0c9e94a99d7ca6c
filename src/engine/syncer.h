/* syncer.h - makes committed groups durable, while the writer applies the next one.
 *
 * Where a commit is written but not synced (db_defer_sync()), a thread of its own
 * syncs and then calls back, in the order of the commits. One sync covers every
 * group that was committed before it began.
 *
 * Invariants:
 *  1. A group is given back without an error only after a sync that began after
 *     its commit has succeeded.
 *  2. Each group that was added is given back exactly once, in order.
 *  3. After a failed sync nothing succeeds any more: Linux forgets that pages
 *     were not written.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct job_list;
struct syncer;

enum syncer_state {
    SYNCER_IDLE,
    SYNCER_SYNCING, /* a sync is under way; the next group may be applied meanwhile */
    SYNCER_FULL,    /* and a group waits for the next one */
};

/* By the monotonic clock. */
struct sync_times {
    int64_t group_us; /* when the writer began the first of the groups */
    int64_t began_us, ended_us;
};

struct syncer_options {
    struct db *db;

    /* The syncer's thread. `err` is NULL when the jobs are durable. */
    void (*synced)(void *ctx, struct job_list *jobs, const struct sync_times *times,
                   const struct error *err);
    /* The same thread: another group may be added. Next, synced() has jobs of this cost (0: none
     * yet). */
    void (*relaxed)(void *ctx, int64_t told_us);
    void *ctx;
};

/* Starts the thread. The caller owns *ret. */
int syncer_new(const struct syncer_options *options, struct syncer **ret,
               struct error *err) MUST_CHECK;

/* Writer thread: these jobs, begun at that time, are committed. The list is empty after it. */
void syncer_add(struct syncer *s, struct job_list *group, int64_t group_us);

/* Any thread. */
enum syncer_state syncer_state(const struct syncer *s);

/* When the sync that is under way began, by the raw clock; 0: none. Any thread. */
int64_t syncer_began_us(const struct syncer *s);

/* Syncs what was added, then ends the thread; nothing may be added after it. NULL is fine. */
void syncer_stop(struct syncer *s);

/* Stops it first if needed. NULL is fine. */
void syncer_free(struct syncer *s);
