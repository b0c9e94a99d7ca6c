/* failing.c - an alert for each failed run, stored with the event that says so, and one open alert
 * for its agent while many of its last runs fail.
 *
 * The alert about the agent opens with the event that makes a run fail, in its
 * transaction, if of the agent's last twenty runs at least three and a fifth
 * failed. Every few seconds the open ones are compared with the agents' last
 * runs: their numbers are updated, and an alert closes when less than a tenth
 * failed.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "features/agents/agents.h"
#include "features/alerts/alerts.h"
#include "features/alerts/rules.h"
#include "features/alerts/store.h"
#include "features/alerts/watch.h"
#include "features/events/event_log.h"
#include "features/events/ingest.h"
#include "features/events/shapes.h"

enum {
    AGENTS_MAX = 100,  /* looked at per tick */
    REVIEWED_MAX = 10, /* of those, in the writer: the rest waits for the next ticks */
    RUNS = 20,         /* that are counted */
    FAILED_LEAST = 3,  /* of them, before an alert opens */
    OPENS_AT = 20,     /* percent of them */
    CLOSES_BELOW = 10, /* percent: less than what opens it, so that no run does both */
    THOROUGH_MAX = 20, /* agents of a transaction that may cost more */
    NAME_BYTES = 200,  /* of a name in a sentence */
    TEXT_BYTES = 1000, /* of an error in a message */
    AT_ONCE_MAX = 100, /* alerts per statement */
};

/* What an agent's last runs say. */
struct failing_verdict {
    int64_t failed, runs;
    bool unknown; /* undecided: too many of the newest runs have not ended */
    bool bad, recovered;
    const struct finished_run *last; /* that failed; NULL: none did */
};

/* `more`: other runs may have ended before those in the list. */
static struct failing_verdict judge(const struct list *list, bool more)
{
    const struct finished_run *runs = list->items;
    struct failing_verdict v = { .runs = (int64_t)list->n, .unknown = more && list->n < RUNS };

    for (size_t i = 0; i < list->n; i++) {
        v.failed += runs[i].failed;
        if (v.last == NULL && runs[i].failed)
            v.last = &runs[i];
    }
    v.bad = v.failed >= FAILED_LEAST && v.failed * 100 >= OPENS_AT * v.runs;
    v.recovered = !v.unknown && (v.failed == 0 || v.failed * 100 < CLOSES_BELOW * v.runs);
    return v;
}

static struct str detail_of(const struct failing_verdict *v, struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* bounded: an error type has a maximum length */

    if (v->last == NULL)
        return STR_LIT("{}");
    buf_printf(&out, "{\"failed\":%lld,\"runs\":%lld,\"run_id\":", (long long)v->failed,
               (long long)v->runs);
    buf_add_json(&out, v->last->run_id);
    if (!str_is_null(v->last->error_type) && v->last->error_type.len > 0) {
        buf_add_c(&out, ",\"error_type\":");
        buf_add_json(&out, v->last->error_type);
    }
    buf_add_char(&out, '}');
    return buf_take(&out, arena);
}

static int read_verdict(struct db *db, const struct finished_runs *of, struct arena *arena,
                        struct failing_verdict *ret, struct error *err)
{
    struct list runs;
    bool more;

    if (alert_store_finished(db, of, arena, &runs, &more, err) != 0)
        return -1;
    *ret = judge(&runs, more);
    return 0;
}

/* An agent most of whose runs never end is judged by the runs that did, however few they are. */
static int read_deep_verdict(struct db *db, const struct finished_runs *of, struct arena *arena,
                             struct failing_verdict *ret, struct error *err)
{
    const struct finished_runs deep = { of->tenant_id, of->agent_id, of->limit, true };

    if (read_verdict(db, of, arena, ret, err) != 0)
        return -1;
    return ret->unknown ? read_verdict(db, &deep, arena, ret, err) : 0;
}

static int update_alert(struct txn *txn, const struct failing_row *open, struct str detail,
                        struct arena *arena, struct error *err)
{
    struct alert_row row;

    if (str_eq(open->detail, detail))
        return 0;
    if (alert_store_get(txn->db, open->tenant_id, open->alert_id, arena, &row, err) != 0)
        return -1;
    return alerts_set_detail(txn, &row, detail, err);
}

static int open_alert(struct txn *txn, const struct event_item *item,
                      const struct failing_verdict *v, struct arena *arena, struct error *err)
{
    const struct str name = utf8_cut(item->event->agent_name, NAME_BYTES);
    struct alert_row row = { .tenant_id = item->tenant_id,
                             .type = STR_LIT("agent.failing"),
                             .agent_id = item->agent_id,
                             .agent_name = item->event->agent_name,
                             .subject = STR_LIT(""),
                             .since_at = item->event->timestamp,
                             .opened_at = item->received_at,
                             .detail = detail_of(v, arena) };
    const struct alert_notice notice = {
        &row, row.type,
        arena_printf(arena, "Agent '%.*s' is failing: %lld of its last %lld runs failed",
                     STR_ARG(name), (long long)v->failed, (long long)v->runs)
    };

    return alerts_open(txn, &notice, err);
}

/* The event, stored in this transaction, made a run fail; it is of the nth agent, from 0 on. Only
 * of the first agents an open alert is brought up to date here, and more than their newest runs are
 * looked at. The arena is scratch space. */
static int failing_note(struct txn *txn, const struct event_item *item, size_t nth,
                        struct arena *arena, struct error *err)
{
    const struct finished_runs of = { item->tenant_id, item->agent_id, RUNS, false };
    const bool thorough = nth < THOROUGH_MAX;
    struct failing_verdict v;
    struct failing_row open;

    if (alert_store_failing_of(txn->db, item->tenant_id, item->agent_id, arena, &open, err) != 0)
        return -1;
    if (str_is_null(open.alert_id)) {
        if (alert_store_failing_hold(txn->db, item->tenant_id, item->agent_id, err) != 0 ||
            (thorough ? read_deep_verdict : read_verdict)(txn->db, &of, arena, &v, err) != 0)
            return -1;
        return v.bad ? open_alert(txn, item, &v, arena, err) : 0;
    }
    if (!thorough)
        return 0;
    if (read_verdict(txn->db, &of, arena, &v, err) != 0)
        return -1;
    return v.unknown || v.recovered ? 0
                                    : update_alert(txn, &open, detail_of(&v, arena), arena, err);
}

/* The event's error fields, each truncated. */
static struct str error_detail_of(const struct telemetry_event *event, struct arena *arena)
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

/* The stored detail and the message of a failed run's alert; in the arena. */
static struct alert_notice failure_notice_of(const struct event_item *item, struct arena *arena)
{
    const struct telemetry_event *event = item->event;
    const struct str name = utf8_cut(event->agent_name, NAME_BYTES);
    const struct str why = utf8_cut(event->error_type, NAME_BYTES);
    struct alert_row *row = ARENA_NEW(arena, struct alert_row);

    *row = (struct alert_row){ .tenant_id = item->tenant_id,
                               .run_no = { true, item->run_no },
                               .since_at = event->timestamp,
                               .opened_at = item->received_at,
                               .detail = error_detail_of(event, arena) };
    return (struct alert_notice){
        .row = row,
        .message = STR_LIT("run.failed"),
        .summary =
            arena_printf(arena, "Run %.*s of agent '%.*s' failed%s%.*s", STR_ARG(event->run_id),
                         STR_ARG(name), why.len == 0 ? "" : ": ", STR_ARG(why)),
    };
}

/* Those of one tenant, at most AT_ONCE_MAX. */
static int open_some(struct txn *txn, const struct event_item *const *failures, size_t n,
                     struct error *err)
{
    struct alert_notice notices[AT_ONCE_MAX];
    ARENA_SCOPED(arena);

    for (size_t i = 0; i < n; i++)
        notices[i] = failure_notice_of(failures[i], &arena);
    return alerts_failed(txn, notices, n, &arena, err);
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

    if (!event_batch_is_watched(event_batch_of(txn)))
        return 0;
    items = event_batch_items(event_batch_of(txn), &n);
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

struct failing {
    struct watching w;
    struct failing_row *changed; /* in the arena */
    size_t n_changed;
    struct failing_row after; /* the last one looked at */
};

static struct str healthy_text(struct str name, const struct failing_verdict *v,
                               struct arena *arena)
{
    if (v->runs == 0)
        return arena_printf(arena, "Agent '%.*s' is no longer failing: its runs were deleted",
                            STR_ARG(name));
    return arena_printf(arena,
                        "Agent '%.*s' is healthy again: %lld of its last %lld runs completed",
                        STR_ARG(name), (long long)(v->runs - v->failed), (long long)v->runs);
}

static int close_alert(struct txn *txn, const struct failing_row *open,
                       const struct failing_verdict *v, struct arena *arena, struct error *err)
{
    struct alert_row row;
    struct alert_notice notice = { .row = &row, .message = STR_LIT("agent.healthy") };
    struct str name;

    if (alert_store_get(txn->db, open->tenant_id, open->alert_id, arena, &row, err) != 0)
        return -1;
    if (!open->wanted)
        return alert_rules_close(txn, &row, err);
    name = utf8_cut(row.agent_name, NAME_BYTES);
    row.closed_at = clock_wall_us();
    row.closed_by = open->deleted    ? STR_LIT("deleted")
                    : !open->enabled ? STR_LIT("disabled")
                                     : STR_LIT("recovered");
    notice.summary = open->enabled
                         ? healthy_text(name, v, arena)
                         : arena_printf(arena, "Agent '%.*s' is no longer watched: it was %.*s",
                                        STR_ARG(name), STR_ARG(row.closed_by));
    return alerts_close(txn, &notice, err);
}

static bool is_over(const struct failing_row *open, const struct failing_verdict *v)
{
    return v->recovered || !open->enabled || !open->wanted;
}

/* Decides again, by what is stored now. */
static int review(struct txn *txn, const struct failing_row *seen, struct arena *arena,
                  struct error *err)
{
    const struct finished_runs of = { seen->tenant_id, seen->agent_id, RUNS, false };
    struct failing_verdict v;
    struct failing_row open;

    if (alert_store_failing_of(txn->db, seen->tenant_id, seen->agent_id, arena, &open, err) != 0 ||
        read_deep_verdict(txn->db, &of, arena, &v, err) != 0)
        return -1;
    if (str_is_null(open.alert_id))
        return 0;
    if (is_over(&open, &v))
        return close_alert(txn, &open, &v, arena, err);
    if (v.unknown)
        return 0;
    return update_alert(txn, &open, detail_of(&v, arena), arena, err);
}

/* In the order of the tick, by tenant and agent. In a transaction of its own, so
 * that no report's rows are locked before. */
static int failing_apply(struct watching *w, struct txn *txn, struct error *err)
{
    struct failing *f = CONTAINER_OF(w, struct failing, w);
    ARENA_SCOPED(arena);
    int r = 0;

    for (size_t i = 0; r == 0 && i < f->n_changed; i++) {
        r = review(txn, &f->changed[i], &arena, err);
        arena_reset(&arena);
    }
    return r;
}

/* Finds agents whose alert no longer matches their runs, and alerts that have ended. The next tick
 * continues after the last agent checked, and starts over at the end. */
static int failing_find(struct watching *w, const struct tick *now, struct error *err)
{
    struct failing *f = CONTAINER_OF(w, struct failing, w);
    struct list list;
    const struct failing_row *rows;

    (void)now;
    f->n_changed = 0;
    if (alert_store_failing(w->env.db, &f->after, AGENTS_MAX, &w->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    f->changed = ARENA_ARRAY(&w->arena, struct failing_row, REVIEWED_MAX);
    f->after = (struct failing_row){ 0 };
    for (size_t i = 0; i < list.n; i++) {
        const struct finished_runs of = { rows[i].tenant_id, rows[i].agent_id, RUNS, false };
        struct failing_verdict v;

        if (read_deep_verdict(w->env.db, &of, &w->arena, &v, err) != 0)
            return -1;
        if (is_over(&rows[i], &v) ||
            (!v.unknown && !str_eq(rows[i].detail, detail_of(&v, &w->arena))))
            f->changed[f->n_changed++] = rows[i];
        if (f->n_changed == REVIEWED_MAX || i + 1 == AGENTS_MAX) {
            f->after = (struct failing_row){ .tenant_id = rows[i].tenant_id,
                                             .agent_id = rows[i].agent_id };
            break;
        }
    }
    w->job.events = f->n_changed;
    w->job.exclusive = w->job.keeps_caches = true;
    return 0;
}

const struct watch failing_watch = {
    .name = "failing agents",
    .size = sizeof(struct failing),
    .period_s = 2,
    .find = failing_find,
    .apply = failing_apply,
};
