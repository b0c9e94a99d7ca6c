/* failures.c - an alert for each failed run, and one for its agent, stored with the event that says
 * so. */
#include "features/alerts/failures.h"

#include <stdlib.h>

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
    NAME_BYTES = 200   /* of a name */
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

static int compare_agents(const void *a, const void *b)
{
    const struct event_item *left = *(const struct event_item *const *)a;
    const struct event_item *right = *(const struct event_item *const *)b;

    if (left->tenant_id != right->tenant_id)
        return left->tenant_id < right->tenant_id ? -1 : 1;
    if (left->agent_id != right->agent_id)
        return left->agent_id < right->agent_id ? -1 : 1;
    return left < right ? -1 : left > right; /* the first event of an agent comes first */
}

/* Once per agent, by tenant and agent: all writers take the alerts' rows in this order. */
static int note_agents(struct txn *txn, const struct event_item **failures, size_t n,
                       struct error *err)
{
    struct arena arena;
    size_t agents = 0;
    int r = 0;

    qsort((void *)failures, n, sizeof(*failures), compare_agents);
    arena_init(&arena);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (i > 0 && failures[i]->tenant_id == failures[i - 1]->tenant_id &&
            failures[i]->agent_id == failures[i - 1]->agent_id)
            continue;
        r = failing_note(txn, failures[i], agents++, &arena, err);
        arena_reset(&arena);
    }
    arena_done(&arena);
    return r;
}

int failures_alert(struct txn *txn, struct error *err)
{
    const struct event_item *items, **failures;
    struct arena arena, scratch; /* of the batch, and of one event */
    size_t n, n_failures = 0;
    int r = 0;

    if (!event_batch_is_watched(txn->events))
        return 0;
    items = event_batch_items(txn->events, &n);
    arena_init(&arena);
    arena_init(&scratch);
    failures = ARENA_ARRAY(&arena, const struct event_item *, n + 1);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (!is_failure(&items[i]))
            continue;
        failures[n_failures++] = &items[i];
        r = open_failed_alert(txn->db, &items[i], txn->notes, &scratch, err);
        arena_reset(&scratch);
    }
    arena_done(&scratch);
    if (r == 0)
        r = note_agents(txn, failures, n_failures, err);
    arena_done(&arena);
    return r;
}
