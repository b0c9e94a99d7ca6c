/* mutes.c - finds open alerts whose mute has ended, and the job that sends their messages. */
#include "features/alerts/mutes.h"

#include <stdlib.h>

#include "base/busy.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/alerts/alerts.h"
#include "features/alerts/still_open.h"

enum {
    PERIOD_S = 5,
    NOTIFY_MAX = 100 /* alerts per transaction */
};

struct mutes {
    struct mutes_options options;
    int64_t checked_us; /* raw */

    struct writer_job job; /* belongs to the writer while `busy`, as does now_us */
    int64_t now_us;
    struct busy busy;
};

struct mutes *mutes_new(const struct mutes_options *options)
{
    struct mutes *m = NEW(struct mutes);

    m->options = *options;
    return m;
}

void mutes_free(struct mutes *m)
{
    free(m);
}

/* Reads the alerts again: they may have changed since the tick. */
static int mutes_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct mutes *m = CONTAINER_OF(job, struct mutes, job);
    struct arena arena;
    struct list list;
    int r;

    arena_init(&arena);
    r = store_alerts_unnotified(txn->db, m->now_us, NOTIFY_MAX, &arena, &list, err);
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        struct alert_row *row = &((struct alert_row *)list.items)[i];
        const struct alert_notice notice = { .row = row,
                                             .message = row->type,
                                             .summary = still_open_text(row, &arena) };

        r = alerts_notify_unmuted(txn->db, &notice, m->now_us, err);
    }
    arena_done(&arena);
    return r;
}

/* After a failure the next tick finds the alerts again. */
static void mutes_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct mutes, job)->busy);
}

static int has_unnotified(const struct mutes *m, bool *ret, struct error *err)
{
    struct arena arena;
    struct list list;
    int r;

    arena_init(&arena);
    r = store_alerts_unnotified(m->options.db, m->now_us, 1, &arena, &list, err);
    *ret = r == 0 && list.n > 0;
    arena_done(&arena);
    return r;
}

int mutes_tick(struct mutes *m, int64_t wall_us, int64_t raw_us, struct error *err)
{
    bool any;
    int r;

    if (raw_us - m->checked_us < (int64_t)PERIOD_S * USEC_PER_SEC || !busy_begin(&m->busy))
        return 0;
    m->checked_us = raw_us;
    m->now_us = wall_us;
    r = has_unnotified(m, &any, err);
    if (r == 0 && any) {
        m->job = (struct writer_job){
            .apply = mutes_apply, .done = mutes_done, .events = 1, .unbounded = true
        };
        r = writer_submit(m->options.writer, &m->job, err);
        if (r == 0)
            return 0;
    }
    busy_end(&m->busy);
    return r;
}
