/* kinds_sweep.c - reads which kinds events have, and drops the others. */
#include "features/events/kinds/kinds_sweep.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/sync_job.h"
#include "features/events/kinds/event_kinds.h"
#include "features/events/kinds/event_kinds_store.h"

enum { PERIOD_S = 86400, EVENTS_PER_STEP = 5000, DROPPED_PER_STEP = 500 };

struct sweep_job {
    struct kinds_sweep *sweep;
    struct event_kinds *kinds;
    size_t dropped;
};

static int begin(void *ctx, struct db *db, struct error *err)
{
    struct sweep_job *job = ctx;

    return event_kinds_begin_sweep(job->kinds, db, &job->sweep->below_no, err);
}

static int drop(void *ctx, struct db *db, struct error *err)
{
    struct sweep_job *job = ctx;
    const struct kinds_used used = { job->sweep->used, job->sweep->below_no };

    return event_kinds_drop(job->kinds, db, &used, DROPPED_PER_STEP, &job->dropped, err);
}

static void note_kind(void *ctx, int64_t event_no, int64_t kind_no)
{
    struct kinds_sweep *s = ctx;

    s->event_no = event_no;
    if (kind_no > 0 && kind_no < s->below_no)
        s->used[kind_no / 8] |= (uint8_t)(1U << (kind_no % 8));
}

static int read_some(struct kinds_sweep *s, struct db *db, struct error *err)
{
    struct kind_walker walker = { note_kind, s, 0 };

    if (store_kinds_of_events(db, s->event_no, EVENTS_PER_STEP, &walker, err) != 0)
        return -1;
    if (walker.n < EVENTS_PER_STEP)
        s->state = SWEEP_DROPPING;
    return 0;
}

static bool is_time(const struct kinds_sweep *s, const struct event_kinds *kinds)
{
    return event_kinds_are_many(kinds) &&
           (s->began_us == 0 || clock_mono_us() - s->began_us >= (int64_t)PERIOD_S * USEC_PER_SEC);
}

int kinds_sweep_step(struct kinds_sweep *s, struct event_kinds *kinds, struct db *db,
                     struct writer *writer, struct error *err)
{
    struct sweep_job job = { .sweep = s, .kinds = kinds };

    switch (s->state) {
    case SWEEP_IDLE:
        if (!is_time(s, kinds))
            return 0;
        if (writer_run_sync(writer, begin, &job, err) != 0)
            return -1;
        s->began_us = clock_mono_us();
        s->event_no = 0;
        s->used = mem_new((size_t)s->below_no / 8 + 1);
        s->state = SWEEP_READING;
        return 0;
    case SWEEP_READING:
        return read_some(s, db, err);
    case SWEEP_DROPPING:
        if (writer_run_sync(writer, drop, &job, err) != 0)
            return -1;
        if (job.dropped < DROPPED_PER_STEP)
            kinds_sweep_done(s);
        return 0;
    }
    return 0;
}

void kinds_sweep_done(struct kinds_sweep *s)
{
    free(s->used);
    s->used = NULL;
    s->state = SWEEP_IDLE;
}
