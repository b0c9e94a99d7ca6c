/* reminders.c - finds open alerts whose message is due again, and the job that sends it. */
#include "features/alerts/reminders.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/alerts/alerts.h"
#include "features/alerts/due_job.h"
#include "features/alerts/handling/handling.h"
#include "features/alerts/still_open.h"

enum { REMIND_MAX = 100 }; /* alerts per transaction */

struct reminders {
    struct reminders_options options;
    struct due_job due;
};

struct reminders *reminders_new(const struct reminders_options *options)
{
    struct reminders *m = NEW(struct reminders);

    m->options = *options;
    return m;
}

void reminders_free(struct reminders *m)
{
    free(m);
}

static int remind(struct txn *txn, struct alert_row *row, int64_t now_us, struct arena *arena,
                  struct error *err)
{
    const struct handling by = { txn->db,  row->tenant_id, now_us, STR_NULL,
                                 STR_NULL, NULL,           arena,  NULL };
    const struct alert_notice notice = { .row = row,
                                         .message = row->type,
                                         .summary = still_open_text(row, arena) };
    bool first;

    if (handling_remind(&by, row, &first, err) != 0)
        return -1;
    row->reminded_at = now_us;
    return first ? alerts_remind(txn->db, &notice, now_us, err) : 0;
}

/* Reads the alerts again: they may have changed since the tick. */
static int reminders_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct reminders *m = CONTAINER_OF(job, struct reminders, due.job);
    struct arena arena, scratch; /* of all, and of one alert */
    struct list list;
    int r;

    arena_init(&arena);
    arena_init(&scratch);
    r = store_alerts_to_remind(txn->db, m->due.now_us, REMIND_MAX, &arena, &list, err);
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        r = remind(txn, &((struct alert_row *)list.items)[i], m->due.now_us, &scratch, err);
        arena_reset(&scratch);
    }
    arena_done(&scratch);
    arena_done(&arena);
    return r;
}

static int has_due(const struct reminders *m, bool *ret, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list list;
    int r;

    r = store_alerts_to_remind(m->options.db, m->due.now_us, 1, &arena, &list, err);
    *ret = r == 0 && list.n > 0;
    return r;
}

int reminders_tick(struct reminders *m, int64_t wall_us, int64_t raw_us, struct error *err)
{
    bool any;
    int r;

    if (!due_job_begin(&m->due, wall_us, raw_us))
        return 0;
    r = has_due(m, &any, err);
    return due_job_end(&m->due, m->options.writer, reminders_apply, r, any, err);
}
