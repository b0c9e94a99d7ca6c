/* failures.c - an alert for each failed run, and one for its agent, stored with the event that says
 * so. */
#include "features/alerts/failures.h"

#include "base/buf.h"
#include "engine/txn.h"
#include "features/alerts/alerts.h"
#include "features/alerts/failing.h"
#include "features/events/event_batch.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "shape/utf8.h"

enum {
    TEXT_BYTES = 1000, /* of an error in a message */
    NAME_BYTES = 200,  /* of a name */
    LOOK_BACK_MAX = 1000
};

/* The event's error fields, each truncated. */
static struct str detail_of(const struct telemetry_event *event, struct arena *arena)
{
    const struct {
        const char *name;
        struct str text;
    } parts[] = { { "error_type", event->error_type },
                  { "error_message", event->error_message },
                  { "message", event->message } };
    struct str detail;
    struct buf out;

    buf_init(&out, SIZE_MAX); /* bounded: the parts are truncated */
    buf_add_char(&out, '{');
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (str_is_null(parts[i].text) || parts[i].text.len == 0)
            continue;
        buf_printf(&out, "%s\"%s\":", out.len == 1 ? "" : ",", parts[i].name);
        buf_add_json(&out, utf8_cut(parts[i].text, TEXT_BYTES));
    }
    buf_add_char(&out, '}');
    detail = arena_copy(arena, buf_str(&out));
    buf_done(&out);
    return detail;
}

static int open_failed_alert(struct db *db, const struct event_item *item,
                             struct alert_notes *notes, struct arena *arena, struct error *err)
{
    const struct telemetry_event *event = item->event;
    struct str name = utf8_cut(event->agent_name, NAME_BYTES);
    struct str why = utf8_cut(event->error_type, NAME_BYTES);
    struct alert_row row = { .tenant_id = item->tenant_id,
                             .run_no = { true, item->run_no },
                             .since_at = event->timestamp,
                             .opened_at = item->received_at,
                             .detail = detail_of(event, arena) };
    const struct alert_notice notice = {
        .row = &row,
        .message = STR_LIT("run.failed"),
        .summary =
            arena_printf(arena, "Run %.*s of agent '%.*s' failed%s%.*s", STR_ARG(event->run_id),
                         STR_ARG(name), why.len == 0 ? "" : ": ", STR_ARG(why)),
        .notes = notes,
    };
    bool first;

    return alerts_failed(db, &notice, &first, err);
}

static bool is_failure(const struct event_item *item)
{
    return item->watched && !item->duplicate && item->run_status == RUN_FAILED;
}

/* Does one of the items before it speak of the same agent? Then its runs are counted already. */
static bool is_agent_done(const struct event_item *items, size_t i)
{
    const struct event_item *item = &items[i];

    for (size_t k = i > LOOK_BACK_MAX ? i - LOOK_BACK_MAX : 0; k < i; k++)
        if (items[k].agent_id == item->agent_id && items[k].tenant_id == item->tenant_id &&
            is_failure(&items[k]))
            return true;
    return false;
}

int failures_alert(struct txn *txn, struct error *err)
{
    const struct event_item *items;
    struct arena arena;
    size_t n;
    int r = 0;

    if (!event_batch_is_watched(txn->events))
        return 0;
    items = event_batch_items(txn->events, &n);
    arena_init(&arena);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (!is_failure(&items[i]))
            continue;
        r = open_failed_alert(txn->db, &items[i], txn->notes, &arena, err);
        if (r == 0 && !is_agent_done(items, i))
            r = failing_note(txn, &items[i], &arena, err);
        arena_reset(&arena);
    }
    arena_done(&arena);
    return r;
}
