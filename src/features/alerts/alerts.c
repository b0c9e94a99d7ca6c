/* alerts.c - opening and closing alerts, and publishing what changed. */
#include "features/alerts/alerts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents.h"
#include "features/alerts/shapes.h"
#include "features/live/feed.h"
#include "features/metrics.h"
#include "features/webhooks/outbox.h"

static const char notes_part[] = "alert_notes";

enum {
    NAME_MAX_BYTES = 1024, /* of an agent's name in a message */
    NOTES_MAX = 1000,      /* published per transaction; the rest is only in the list of alerts */
    NOTE_BYTES_MAX = 64 << 10
};

/* What a transaction did to alerts, published once it is durable; reused for each. */
struct alert_note {
    struct alert_note *next;
    int64_t tenant_id;
    struct str type;
    bool opened;
    struct str json;
};

struct alert_notes {
    struct arena arena;
    struct alert_note *first, **end;
    size_t n;
};

static void add_note(struct txn *txn, const struct alert_row *row, bool opened)
{
    struct alert_notes *notes = txn_part(txn, notes_part);
    const struct alert alert = alerts_answer(row);
    struct alert_note *note;
    BUF_SCOPED(json, NOTE_BYTES_MAX);

    if (notes == NULL || notes->n == NOTES_MAX)
        return;
    shape_write_json(&alert_shape, &alert, &json);
    if (!json.overflown) {
        note = ARENA_NEW(&notes->arena, struct alert_note);
        note->tenant_id = row->tenant_id;
        note->type = arena_copy(&notes->arena, row->type);
        note->opened = opened;
        note->json = arena_copy(&notes->arena, buf_str(&json));
        *notes->end = note;
        notes->end = &note->next;
        notes->n++;
    }
}

void alerts_note_change(struct txn *txn, const struct alert_row *row)
{
    add_note(txn, row, false);
}

static void add_member(struct buf *out, const char *name, struct str value)
{
    if (str_is_null(value))
        return;
    buf_printf(out, ",\"%s\":", name);
    buf_add_json(out, value);
}

static void add_time(struct buf *out, const char *name, int64_t at)
{
    char text[DATETIME_TEXT_MAX];

    if (at != TIME_NULL)
        add_member(out, name, datetime_format(at, text));
}

static void add_data(struct buf *out, const struct alert_notice *notice, struct str detail)
{
    const struct alert_row *row = notice->row;

    buf_clear(out);
    buf_add_c(out, "{\"summary\":");
    buf_add_json(out, notice->summary);
    add_member(out, "alert_id", row->alert_id);
    if (!str_is_null(row->agent_name))
        add_member(out, "agent_name", utf8_cut(row->agent_name, NAME_MAX_BYTES));
    if (row->run_no.has)
        add_member(out, "run_id", row->subject);
    add_time(out, "since_at", row->since_at);
    add_time(out, "opened_at", row->opened_at);
    add_time(out, "closed_at", row->closed_at);
    add_time(out, "reminded_at", row->reminded_at);
    add_member(out, "closed_by", row->closed_by);
    if (row->away_seconds.has)
        buf_printf(out, ",\"away_seconds\":%lld", (long long)row->away_seconds.value);
    buf_printf(out, ",\"detail\":%.*s}", STR_ARG(detail));
}

/* A message that would be too long is sent without its detail, which the list of alerts has: the
 * transaction must not fail for it. In the arena. */
static int make_message(const struct alert_notice *notice, int64_t at, struct arena *arena,
                        struct outbox_message *ret, struct error *err)
{
    BUF_SCOPED(data, OUTBOX_DATA_MAX);
    int r = 0;

    add_data(&data, notice, notice->row->detail);
    if (data.overflown)
        add_data(&data, notice, STR_LIT("{}"));
    if (data.overflown)
        r = err_set(err, ERR_INTERNAL, "alert message is too long");
    else
        *ret = (struct outbox_message){ .tenant_id = notice->row->tenant_id,
                                        .type = notice->message,
                                        .at = at,
                                        .data = arena_copy(arena, buf_str(&data)) };
    return r;
}

static int enqueue_message(struct db *db, const struct alert_notice *notice, int64_t at,
                           struct error *err)
{
    struct outbox_message message;
    ARENA_SCOPED(arena);

    if (make_message(notice, at, &arena, &message, err) != 0)
        return -1;
    return outbox_add(db, &message, 1, err);
}

/* The only place that changes an alert's state: it opens once and closes once. */
static void set_state(struct alert_row *row, enum alert_state state)
{
    assert(state == ALERT_OPEN ? !row->open && str_is_null(row->alert_id) : row->open);
    row->open = state == ALERT_OPEN;
}

int alerts_open(struct txn *txn, const struct alert_notice *notice, struct error *err)
{
    struct alert_row *row = notice->row;
    ARENA_SCOPED(arena);
    bool muted, opened;
    int r;

    if (agents_is_muted(txn->db, row->tenant_id, row->agent_id, row->opened_at, &muted, err) != 0)
        return -1;
    row->notified = !muted;
    set_state(row, ALERT_OPEN);
    row->alert_id = digest_time_id("alt_", row->opened_at, &arena);
    row->closed_at = row->acknowledged_at = row->reminded_at = TIME_NULL;
    r = alert_store_open(txn->db, row, &opened, err);
    if (r == 0 && opened && row->notified)
        r = enqueue_message(txn->db, notice, row->opened_at, err);
    if (r == 0 && opened)
        add_note(txn, row, true);
    row->alert_id = STR_NULL;
    return r;
}

int alerts_close(struct txn *txn, const struct alert_notice *notice, struct error *err)
{
    struct alert_row *row = notice->row;
    bool closed;

    if (alert_store_close(txn->db, row, &closed, err) != 0)
        return -1;
    if (!closed)
        return 0;
    set_state(row, ALERT_CLOSED);
    add_note(txn, row, false);
    return row->notified && !str_is_null(notice->message)
               ? enqueue_message(txn->db, notice, row->closed_at, err)
               : 0;
}

int alerts_set_detail(struct txn *txn, struct alert_row *row, struct str detail, struct error *err)
{
    if (!row->open)
        return 0;
    row->detail = detail;
    if (alert_store_detail(txn->db, row, err) != 0)
        return -1;
    add_note(txn, row, false);
    return 0;
}

static const struct alert_notice *notice_of(const struct alert_notice *notices, size_t n,
                                            struct str alert_id)
{
    size_t i = 0;

    while (i < n && !str_eq(notices[i].row->alert_id, alert_id))
        i++;
    assert(i < n);
    return &notices[i];
}

/* Notes the stored alerts, and sends the messages of those that are not muted. */
static int send_failed(struct txn *txn, const struct alert_notice *notices, size_t n,
                       const struct list *stored, struct arena *arena, struct error *err)
{
    struct alert_row *rows = stored->items;
    struct outbox_message *messages = ARENA_ARRAY(arena, struct outbox_message, stored->n + 1);
    size_t n_messages = 0;

    for (size_t i = 0; i < stored->n; i++) {
        const struct alert_notice *notice = notice_of(notices, n, rows[i].alert_id);
        const struct alert_notice sent = { &rows[i], notice->message, notice->summary };

        assert(!rows[i].open && rows[i].closed_at == rows[i].opened_at);
        add_note(txn, &rows[i], true);
        if (rows[i].notified &&
            make_message(&sent, rows[i].opened_at, arena, &messages[n_messages++], err) != 0)
            return -1;
    }
    return n_messages == 0 ? 0 : outbox_add(txn->db, messages, n_messages, err);
}

/* How many of `n` alerts about failed runs may be stored now? Ids begin with the time. */
static int count_room(struct db *db, const struct alert_row *row, size_t n, struct arena *arena,
                      size_t *ret, struct error *err)
{
    const int64_t since = row->opened_at - (int64_t)3600 * USEC_PER_SEC;
    int64_t known;

    if (alert_store_closed_after(db, row->tenant_id, digest_time_id("alt_", since, arena),
                                 ALERTS_FAILED_MAX, &known, err) != 0)
        return -1;
    *ret = (int64_t)n < ALERTS_FAILED_MAX - known ? n : (size_t)(ALERTS_FAILED_MAX - known);
    return 0;
}

int alerts_failed(struct txn *txn, const struct alert_notice *notices, size_t n,
                  struct arena *arena, struct error *err)
{
    struct alert_row *rows = ARENA_ARRAY(arena, struct alert_row, n);
    struct list stored;

    assert(n > 0);
    if (count_room(txn->db, notices[0].row, n, arena, &n, err) != 0)
        return -1;
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        notices[i].row->alert_id = digest_time_id("alt_", notices[i].row->opened_at, arena);
        rows[i] = *notices[i].row;
    }
    if (alert_store_failed(txn->db, rows, n, arena, &stored, err) != 0)
        return -1;
    return send_failed(txn, notices, n, &stored, arena, err);
}

int alerts_notify_unmuted(struct db *db, const struct alert_notice *notice, int64_t at,
                          struct error *err)
{
    bool first;

    if (alert_store_notified(db, notice->row, &first, err) != 0)
        return -1;
    return first ? enqueue_message(db, notice, at, err) : 0;
}

int alerts_remind(struct db *db, const struct alert_notice *notice, int64_t at, struct error *err)
{
    assert(notice->row->open && notice->row->notified);
    return enqueue_message(db, notice, at, err);
}

struct alert alerts_answer(const struct alert_row *row)
{
    return (struct alert){ .alert_id = row->alert_id,
                           .type = row->type,
                           .state =
                               str_of(alert_state_names[row->open ? ALERT_OPEN : ALERT_CLOSED]),
                           .agent_name = row->agent_name,
                           .run_id = row->run_no.has ? row->subject : STR_NULL,
                           .since_at = row->since_at,
                           .opened_at = row->opened_at,
                           .closed_at = row->closed_at,
                           .closed_by = row->closed_by,
                           .away_seconds = row->away_seconds,
                           .acknowledged_at = row->acknowledged_at,
                           .acknowledged_by = row->acknowledged_by,
                           .note = row->note,
                           .reminded_at = row->reminded_at,
                           .muted = !row->notified,
                           .detail = row->detail };
}

static void count_opened(struct str type)
{
    static const struct {
        const char *type;
        enum feature_metric metric;
    } metrics[] = {
        { "agent.silent", METRIC_ALERTS_SILENT },
        { "run.failed", METRIC_ALERTS_FAILED },
        { "run.stuck", METRIC_ALERTS_STUCK },
        { "kpi.crossed", METRIC_ALERTS_KPI },
        { "budget.exceeded", METRIC_ALERTS_BUDGET },
        { "budget.forecast", METRIC_ALERTS_FORECAST },
        { "agent.failing", METRIC_ALERTS_FAILING },
        { "failure_rate.exceeded", METRIC_ALERTS_RATE },
        { "duration.exceeded", METRIC_ALERTS_DURATION },
    };

    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        if (str_eq_c(type, metrics[i].type))
            metric_add(metrics[i].metric, 1);
}

void alerts_txn_open(struct engine *e, struct txn *txn)
{
    struct alert_notes *notes = NEW(struct alert_notes);

    (void)e;
    notes->end = &notes->first;
    arena_init(&notes->arena);
    txn_set_part(txn, notes_part, notes);
}

void alerts_txn_close(struct txn *txn)
{
    struct alert_notes *notes = txn_part(txn, notes_part);

    arena_done(&notes->arena);
    free(notes);
}

void alerts_txn_committed(struct txn *txn)
{
    const struct alert_notes *notes = txn_part(txn, notes_part);

    for (const struct alert_note *note = notes->first; note != NULL; note = note->next) {
        if (note->opened)
            count_opened(note->type);
        feed_note_alert(feed_of(txn), note->tenant_id, note->json);
    }
    alerts_txn_rolled_back(txn);
}

void alerts_txn_rolled_back(struct txn *txn)
{
    struct alert_notes *notes = txn_part(txn, notes_part);

    notes->first = NULL;
    notes->end = &notes->first;
    notes->n = 0;
    arena_reset(&notes->arena);
}
