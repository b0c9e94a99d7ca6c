/* due_messages.c - finds open alerts whose message is due, and the job that sends it. */
#include "features/alerts/due_messages.h"

#include <stdlib.h>

#include "base/busy.h"
#include "base/clock.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/alerts/alerts.h"
#include "features/alerts/handling/store.h"
#include "features/alerts/still_open.h"

enum {
    PERIOD_S = 5,
    SENT_MAX = 100, /* alerts per transaction */
};

struct due_messages {
    enum due_kind kind;
    struct db *db;
    struct writer *writer;
    int64_t checked_us;    /* raw */
    int64_t now_us;        /* wall clock, for the job; belongs to the writer while it is busy */
    struct writer_job job; /* as does this */
    struct busy busy;
};

static int send_after_mute(struct txn *txn, const struct alert_notice *notice, int64_t now_us,
                           struct arena *arena, struct error *err)
{
    (void)arena;
    return alerts_notify_unmuted(txn->db, notice, now_us, err);
}

/* Unless another process repeated it since. */
static int send_reminder(struct txn *txn, const struct alert_notice *notice, int64_t now_us,
                         struct arena *arena, struct error *err)
{
    struct alert_row *row = notice->row;
    const struct alert_entry_row entry = { row->tenant_id,
                                           row->alert_id,
                                           { .entry_id = alerts_make_id(arena, "ale_", now_us),
                                             .at = now_us,
                                             .what = STR_LIT("reminded") } };
    const int64_t before = row->reminded_at == TIME_NULL ? row->opened_at : row->reminded_at;
    bool first;

    if (store_alert_remind(txn->db, &entry, before, &first, err) != 0 ||
        (first && store_alert_history_remind(txn->db, &entry, err) != 0))
        return -1;
    row->reminded_at = now_us;
    return first ? alerts_remind(txn->db, notice, now_us, err) : 0;
}

static const struct {
    int (*find)(struct db *db, int64_t now, int64_t limit, struct arena *arena, struct list *ret,
                struct error *err);
    int (*send)(struct txn *txn, const struct alert_notice *notice, int64_t now_us,
                struct arena *arena, struct error *err);
} kinds[] = {
    [DUE_AFTER_MUTE] = { store_alerts_unnotified, send_after_mute },
    [DUE_REMINDER] = { store_alerts_to_remind, send_reminder },
};

struct due_messages *due_messages_new(enum due_kind kind, struct db *db, struct writer *writer)
{
    struct due_messages *m = NEW(struct due_messages);

    m->kind = kind;
    m->db = db;
    m->writer = writer;
    return m;
}

void due_messages_free(struct due_messages *m)
{
    free(m);
}

/* Reads the alerts again: they may have changed since the tick. */
static int due_messages_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct due_messages *m = CONTAINER_OF(job, struct due_messages, job);
    ARENA_SCOPED(arena);
    ARENA_SCOPED(scratch); /* of one alert */
    struct list list;

    if (kinds[m->kind].find(txn->db, m->now_us, SENT_MAX, &arena, &list, err) != 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        struct alert_row *row = &((struct alert_row *)list.items)[i];
        const struct alert_notice notice = { .row = row,
                                             .message = row->type,
                                             .summary = still_open_text(row, &scratch) };

        if (kinds[m->kind].send(txn, &notice, m->now_us, &scratch, err) != 0)
            return -1;
        arena_reset(&scratch);
    }
    return 0;
}

/* After a failure the next look finds what is due again. */
static void due_messages_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct due_messages, job)->busy);
}

static int submit_if_due(struct due_messages *m, bool *ret_submitted, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list list;

    if (kinds[m->kind].find(m->db, m->now_us, 1, &arena, &list, err) != 0)
        return -1;
    if (list.n == 0)
        return 0;
    m->job = (struct writer_job){
        .apply = due_messages_apply, .done = due_messages_done, .events = 1, .unbounded = true
    };
    if (writer_submit(m->writer, &m->job, err) != 0)
        return -1;
    *ret_submitted = true;
    return 0;
}

int due_messages_tick(struct due_messages *m, int64_t wall_us, int64_t raw_us, struct error *err)
{
    bool submitted = false;
    int r;

    if (raw_us - m->checked_us < (int64_t)PERIOD_S * USEC_PER_SEC || !busy_begin(&m->busy))
        return 0;
    m->checked_us = raw_us;
    m->now_us = wall_us;
    r = submit_if_due(m, &submitted, err);
    if (!submitted)
        busy_end(&m->busy);
    return r;
}
