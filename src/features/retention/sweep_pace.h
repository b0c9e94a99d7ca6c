/* sweep_pace.h - how much of each second retention may spend on deleting.
 *
 * Beside incoming reports it deletes about as fast as they arrive, within a
 * small share of a writer's time. A pass that is not done when the next one is
 * due is behind: then both limits double, every minute again, up to a maximum.
 * A pass that is done early halves them. So retention costs little as long as
 * that is enough, and keeps up with reports otherwise. What it would catch up
 * with beyond that has to wait while reports wait for a writer.
 *
 * A plain value, by the times that it is given; one thread at a time.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { SWEEP_PERIOD_S = 60 }; /* between the starts of two passes */

struct sweep_pace {
    unsigned effort, effort_max;
    bool under_way;               /* a pass */
    int64_t began_us, checked_us; /* the pass; when the effort was last set or it began */
    uint64_t ticked, before;      /* incoming bytes at the last tick, and at the one before it */
    int64_t spent_us, rows;       /* of this second */
};

/* `several`: writers, so that others go on meanwhile. */
void sweep_pace_init(struct sweep_pace *p, bool several);

/* Every second, with the bytes that have come in since the start: a new second begins. */
void sweep_pace_tick(struct sweep_pace *p, bool under_way, int64_t mono_us, uint64_t incoming);

/* The pass failed: when it ended says nothing about the effort. */
void sweep_pace_failed(struct sweep_pace *p);

/* A step took so long. */
void sweep_pace_spend(struct sweep_pace *p, int64_t us, int64_t rows);

/* Is something left of this second? `incoming` as above; `waiting` bytes of it wait for a writer.
 */
bool sweep_pace_may_continue(const struct sweep_pace *p, uint64_t incoming, uint64_t waiting);
