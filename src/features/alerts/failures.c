/* failures.c - an alert for each failed run, and one for its agent, stored with the event that says
 * so. */
#include "features/alerts/failing.h"

#include <stdlib.h>

#include "base/buf.h"
#include "engine/txn.h"
#include "features/alerts/alerts.h"
#include "features/events/event_batch.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"

enum {
    TEXT_BYTES = 1000, /* of an error in a message */
    NAME_BYTES = 200,  /* of a name */
    AT_ONCE_MAX = 100, /* alerts per statement */
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
    BUF_SCOPED(out, SIZE_MAX); /* bounded: the parts are truncated */

    buf_add_char(&out, '{');
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (str_is_null(parts[i].text) || parts[i].text.len == 0)
            continue;
        buf_printf(&out, "%s\"%s\":", out.len == 1 ? "" : ",", parts[i].name);
        buf_add_json(&out, utf8_cut(parts[i].text, TEXT_BYTES));
    }
    buf_add_char(&out, '}');
    return buf_take(&out, arena);
}

/* What is stored and told of a failed run; in the arena. */
static struct alert_notice notice_of(const struct event_item *item, struct alert_notes *notes,
                                     struct arena *arena)
{
    const struct telemetry_event *event = item->event;
    const struct str name = utf8_cut(event->agent_name, NAME_BYTES);
    const struct str why = utf8_cut(event->error_type, NAME_BYTES);
    struct alert_row *row = ARENA_NEW(arena, struct alert_row);

    *row = (struct alert_row){ .tenant_id = item->tenant_id,
                               .run_no = { true, item->run_no },
                               .since_at = event->timestamp,
                               .opened_at = item->received_at,
                               .detail = detail_of(event, arena) };
    return (struct alert_notice){
        .row = row,
        .message = STR_LIT("run.failed"),
        .summary =
            arena_printf(arena, "Run %.*s of agent '%.*s' failed%s%.*s", STR_ARG(event->run_id),
                         STR_ARG(name), why.len == 0 ? "" : ": ", STR_ARG(why)),
        .notes = notes,
    };
}

/* Those of one tenant, at most AT_ONCE_MAX. */
static int open_some(struct txn *txn, const struct event_item *const *failures, size_t n,
                     struct error *err)
{
    struct alert_notice notices[AT_ONCE_MAX];
    ARENA_SCOPED(arena);

    for (size_t i = 0; i < n; i++)
        notices[i] = notice_of(failures[i], txn->notes, &arena);
    return alerts_failed(txn->db, notices, n, &arena, err);
}

/* By tenant, agent and run: all writers take the alerts' rows in this order. */
static int compare_failures(const void *a, const void *b)
{
    const struct event_item *left = *(const struct event_item *const *)a;
    const struct event_item *right = *(const struct event_item *const *)b;

    if (left->tenant_id != right->tenant_id)
        return left->tenant_id < right->tenant_id ? -1 : 1;
    if (left->agent_id != right->agent_id)
        return left->agent_id < right->agent_id ? -1 : 1;
    if (left->run_no != right->run_no)
        return left->run_no < right->run_no ? -1 : 1;
    return left < right ? -1 : left > right; /* the first event of a run comes first */
}

/* A few statements for all failures of a tenant: a batch may have a thousand. */
static int open_alerts(struct txn *txn, const struct event_item *const *failures, size_t n,
                       struct error *err)
{
    size_t end;

    for (size_t begin = 0; begin < n; begin = end) {
        for (end = begin + 1; end < n && end - begin < AT_ONCE_MAX &&
                              failures[end]->tenant_id == failures[begin]->tenant_id;)
            end++;
        if (open_some(txn, failures + begin, end - begin, err) != 0)
            return -1;
    }
    return 0;
}

static bool is_failure(const struct event_item *item)
{
    return item->watched && !item->duplicate && item->run_status == RUN_FAILED;
}

/* Once per agent, with the first event of its first run. */
static int note_agents(struct txn *txn, const struct event_item *const *failures, size_t n,
                       struct error *err)
{
    ARENA_SCOPED(arena);
    size_t agents = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (i > 0 && failures[i]->tenant_id == failures[i - 1]->tenant_id &&
            failures[i]->agent_id == failures[i - 1]->agent_id)
            continue;
        r = failing_note(txn, failures[i], agents++, &arena, err);
        arena_reset(&arena);
    }
    return r;
}

int failures_alert(struct txn *txn, struct error *err)
{
    const struct event_item *items, **failures;
    ARENA_SCOPED(arena);
    size_t n, n_failures = 0;

    if (!event_batch_is_watched(txn->events))
        return 0;
    items = event_batch_items(txn->events, &n);
    failures = ARENA_ARRAY(&arena, const struct event_item *, n + 1);
    for (size_t i = 0; i < n; i++)
        if (is_failure(&items[i]))
            failures[n_failures++] = &items[i];
    if (n_failures > 1)
        qsort((void *)failures, n_failures, sizeof(*failures), compare_failures);
    if (open_alerts(txn, failures, n_failures, err) != 0)
        return -1;
    return note_agents(txn, failures, n_failures, err);
}
