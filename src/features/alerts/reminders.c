/* reminders.c - finds open alerts whose message is due again, and the job that sends it. */
#include "features/alerts/reminders.h"

#include <stdlib.h>

#include "base/busy.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/alerts/alerts.h"
#include "features/alerts/handling/handling.h"
#include "features/alerts/still_open.h"

enum {
    PERIOD_S = 5,
    REMIND_MAX = 100 /* alerts per transaction */
};

struct reminders {
    struct reminders_options options;
    int64_t checked_us; /* raw */

    struct writer_job job; /* belongs to the writer while `busy`, as does now_us */
    int64_t now_us;
    struct busy busy;
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
    const struct handling by = { txn->db, row->tenant_id, now_us, STR_NULL, STR_NULL, NULL, arena };
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
    struct reminders *m = CONTAINER_OF(job, struct reminders, job);
    struct arena arena, scratch; /* of all, and of one alert */
    struct list list;
    int r;

    arena_init(&arena);
    arena_init(&scratch);
    r = store_alerts_to_remind(txn->db, m->now_us, REMIND_MAX, &arena, &list, err);
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        r = remind(txn, &((struct alert_row *)list.items)[i], m->now_us, &scratch, err);
        arena_reset(&scratch);
    }
    arena_done(&scratch);
    arena_done(&arena);
    return r;
}

/* After a failure the next tick finds the alerts again. */
static void reminders_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct reminders, job)->busy);
}

static int has_due(const struct reminders *m, bool *ret, struct error *err)
{
    struct arena arena;
    struct list list;
    int r;

    arena_init(&arena);
    r = store_alerts_to_remind(m->options.db, m->now_us, 1, &arena, &list, err);
    *ret = r == 0 && list.n > 0;
    arena_done(&arena);
    return r;
}

int reminders_tick(struct reminders *m, int64_t wall_us, int64_t raw_us, struct error *err)
{
    bool any;
    int r;

    if (raw_us - m->checked_us < (int64_t)PERIOD_S * USEC_PER_SEC || !busy_begin(&m->busy))
        return 0;
    m->checked_us = raw_us;
    m->now_us = wall_us;
    r = has_due(m, &any, err);
    if (r == 0 && any) {
        m->job = (struct writer_job){
            .apply = reminders_apply, .done = reminders_done, .events = 1, .unbounded = true
        };
        r = writer_submit(m->options.writer, &m->job, err);
        if (r == 0)
            return 0;
    }
    busy_end(&m->busy);
    return r;
}
