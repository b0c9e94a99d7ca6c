/* mutes.c - finds open alerts whose mute has ended, and the job that sends their messages. */
#include "features/alerts/mutes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/alerts/alerts.h"
#include "features/alerts/due_job.h"
#include "features/alerts/still_open.h"

enum { NOTIFY_MAX = 100 }; /* alerts per transaction */

struct mutes {
    struct mutes_options options;
    struct due_job due;
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
    struct mutes *m = CONTAINER_OF(job, struct mutes, due.job);
    ARENA_SCOPED(arena);
    struct list list;
    int r;

    r = store_alerts_unnotified(txn->db, m->due.now_us, NOTIFY_MAX, &arena, &list, err);
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        struct alert_row *row = &((struct alert_row *)list.items)[i];
        const struct alert_notice notice = { .row = row,
                                             .message = row->type,
                                             .summary = still_open_text(row, &arena) };

        r = alerts_notify_unmuted(txn->db, &notice, m->due.now_us, err);
    }
    return r;
}

static int has_unnotified(const struct mutes *m, bool *ret, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list list;
    int r;

    r = store_alerts_unnotified(m->options.db, m->due.now_us, 1, &arena, &list, err);
    *ret = r == 0 && list.n > 0;
    return r;
}

int mutes_tick(struct mutes *m, int64_t wall_us, int64_t raw_us, struct error *err)
{
    bool any;
    int r;

    if (!due_job_begin(&m->due, wall_us, raw_us))
        return 0;
    r = has_unnotified(m, &any, err);
    return due_job_end(&m->due, m->options.writer, mutes_apply, r, any, err);
}
