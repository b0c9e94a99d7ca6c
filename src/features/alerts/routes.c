/* routes.c - alerts as users read them, muting of agents, and what people do about alerts:
 * acknowledge, take it back, and write notes. Each is an entry in the alert's history, stored with
 * the change. */
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/access/stored_bytes.h"
#include "features/agents/agents.h"
#include "features/agents/shapes.h"
#include "features/alerts/alerts.h"
#include "features/alerts/shapes.h"

enum {
    SCAN_MAX = 10000, /* alerts scanned per page */
    SCAN_STEP = 200,  /* alerts read per query */
    COUNTED_MAX = 100000,
    NAMED_MAX = 50 /* alerts in the audit entry of a request */
};

static bool matches(const struct alerts_query *query, const struct alert_row *row)
{
    if (query->state >= 0 && row->open != (query->state == ALERT_OPEN))
        return false;
    if (query->acknowledged.has && query->acknowledged.value != (row->acknowledged_at != TIME_NULL))
        return false;
    return str_is_null(query->type) || str_eq(query->type, row->type);
}

/* Adds the rows that match; false when the page is full. */
static bool add_matching(const struct alerts_query *query, const struct list *rows,
                         struct alert_filter *filter, struct listing *ret)
{
    struct alert *alerts = ret->list.items;

    for (size_t i = 0; i < rows->n; i++) {
        const struct alert_row *row = &((const struct alert_row *)rows->items)[i];

        if (ret->list.n == (size_t)query->limit)
            return false;
        filter->before = row->alert_id;
        if (matches(query, row))
            alerts[ret->list.n++] = alerts_answer(row);
    }
    return true;
}

/* One call scans at most SCAN_MAX alerts, so a page may have fewer than `limit`; a null `next`
 * marks the last page. */
static int list_alerts(struct api_call *call, struct db *db, struct error *err)
{
    const struct alerts_query *query = call->query;
    struct listing *ret = call->answer;
    struct alert_filter filter = { .before = query->cursor,
                                   .open = query->state < 0 ? -1 : query->state == ALERT_OPEN,
                                   .limit = SCAN_STEP };
    struct list rows = { NULL, SCAN_STEP };
    bool room = true;

    ret->list = (struct list){ ARENA_ARRAY(call->arena, struct alert, (size_t)query->limit), 0 };
    if (agents_filter_id(db, call->tenant_id, query->agent_name, &filter.agent_id, err) != 0)
        return -1;
    if (filter.agent_id < 0)
        return 0;
    for (size_t n = 0; room && rows.n == SCAN_STEP && n < SCAN_MAX; n += SCAN_STEP) {
        if (alert_store_list(db, call->tenant_id, &filter, call->arena, &rows, err) != 0)
            return -1;
        room = add_matching(query, &rows, &filter, ret);
    }
    ret->next = room && rows.n < SCAN_STEP ? STR_NULL : filter.before;
    return 0;
}

/* Without a body (DELETE) it unmutes. */
static int mute_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct mute_set *set = call->body;
    struct mute_state *answer = call->answer;

    call->audit_target = path->agent_name;
    *answer = (struct mute_state){ path->agent_name, set == NULL ? TIME_NULL : set->until };
    return agents_mute(db, call->tenant_id, path->agent_name, answer->muted_until, err);
}

/* A person, what the person writes (STR_NULL: nothing), and when. */
struct handling {
    struct db *db;
    struct txn *txn; /* NULL: it only reads */
    int64_t tenant_id, at;
    struct str actor, note;
    struct arena *arena;
};

static struct handling handling_by(struct api_call *call, struct db *db, struct str note)
{
    return (struct handling){ db,
                              call->change.write.txn,
                              call->tenant_id,
                              clock_wall_us(),
                              auth_actor(call),
                              note,
                              call->arena };
}

/* A note is stored like a report; all else that people do about alerts goes on. */
static int check_quota(struct api_call *call, struct error *err)
{
    return tenant_is_over_quota(call->tenant) ? auth_refuse_quota(call, err) : 0;
}

static int not_found(struct str alert_id, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "There is no alert '%.*s'", STR_ARG(alert_id));
}

static struct alert_entry_row entry_of(const struct handling *by, struct str alert_id,
                                       struct str what)
{
    return (struct alert_entry_row){ by->tenant_id,
                                     alert_id,
                                     { digest_time_id("ale_", by->at, by->arena), by->at, what,
                                       by->actor, by->note } };
}

/* Adds the note to the alert, which is locked by that until the transaction ends: it is not deleted
 * before its history has the entry, too. */
static int set_note(const struct handling *by, struct str alert_id, struct error *err)
{
    bool found;

    if (alert_store_note(by->db, by->tenant_id, alert_id, by->note, &found, err) != 0)
        return -1;
    return found ? 0 : not_found(alert_id, err);
}

/* Adds the entry, unless the history is full. The alert is locked by the caller's change of it. */
static int add_entry(const struct handling *by, struct str alert_id, struct str what,
                     bool *ret_full, struct error *err)
{
    const struct alert_entry_row row = entry_of(by, alert_id, what);
    int64_t n;

    if (alert_store_history_count(by->db, by->tenant_id, alert_id, &n, err) != 0)
        return -1;
    *ret_full = n >= ALERT_HISTORY_MAX;
    if (*ret_full)
        return 0;
    if (!str_is_null(by->note))
        stored_bytes_add(stored_bytes_of(by->txn), by->tenant_id,
                         (int64_t)(STORED_ROW_BYTES + by->note.len));
    return alert_store_history_add(by->db, &row, err);
}

/* Adds the entry, and its note to the alert. A full history stays as it is. */
static int record(const struct handling *by, struct str alert_id, struct str what,
                  struct error *err)
{
    bool full;

    if (!str_is_null(by->note) && set_note(by, alert_id, err) != 0)
        return -1;
    return add_entry(by, alert_id, what, &full, err);
}

/* Reads the alert again and tells those who listen. */
static int publish(const struct handling *by, struct str alert_id, struct alert *ret,
                   struct error *err)
{
    struct alert_row row;

    if (alert_store_get(by->db, by->tenant_id, alert_id, by->arena, &row, err) != 0)
        return -1;
    if (str_is_null(row.alert_id)) /* deleted since it was found */
        return not_found(alert_id, err);
    alerts_note_change(by->txn, &row);
    if (ret != NULL)
        *ret = alerts_answer(&row);
    return 0;
}

/* ERR_NOT_FOUND. */
static int check_exists(const struct handling *by, struct str alert_id, struct error *err)
{
    struct alert_row row;

    if (alert_store_get(by->db, by->tenant_id, alert_id, by->arena, &row, err) != 0)
        return -1;
    return str_is_null(row.alert_id) ? not_found(alert_id, err) : 0;
}

/* An alert that is acknowledged already stays as it is, as does one that is not known. */
static int acknowledge(const struct handling *by, struct str alert_id, bool *ret_first,
                       struct error *err)
{
    const struct alert_entry_row row = entry_of(by, alert_id, STR_LIT("acknowledged"));

    if (alert_store_acknowledge(by->db, &row, ret_first, err) != 0)
        return -1;
    return *ret_first ? record(by, alert_id, row.entry.what, err) : 0;
}

/* The first acknowledgement of an alert stands; a later one adds nothing. */
static int acknowledge_alert(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;
    const struct handling by = handling_by(call, db, STR_NULL);
    bool first;

    call->audit_target = path->alert_id;
    if (check_exists(&by, path->alert_id, err) != 0 ||
        acknowledge(&by, path->alert_id, &first, err) != 0)
        return -1;
    return publish(&by, path->alert_id, call->answer, err);
}

/* Does nothing when it is not acknowledged. */
static int unacknowledge_alert(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;
    const struct handling by = handling_by(call, db, STR_NULL);
    bool first;

    call->audit_target = path->alert_id;
    if (check_exists(&by, path->alert_id, err) != 0 ||
        alert_store_unacknowledge(db, call->tenant_id, path->alert_id, &first, err) != 0 ||
        (first && record(&by, path->alert_id, STR_LIT("unacknowledged"), err) != 0))
        return -1;
    return publish(&by, path->alert_id, call->answer, err);
}

/* Ids that are not known, and alerts that were acknowledged before, are passed over. *ret: the ids
 * of the others, a list of struct str in the arena. */
static int acknowledge_all(const struct handling *by, const struct list *alert_ids,
                           struct list *ret, struct error *err)
{
    const struct str *ids = alert_ids->items;
    struct str *done = ARENA_ARRAY(by->arena, struct str, alert_ids->n + 1);
    struct handling one = *by;
    ARENA_SCOPED(scratch); /* of one alert, so that memory does not grow with them */
    int r = 0;

    *ret = (struct list){ done, 0 };
    one.arena = &scratch;
    for (size_t i = 0; r == 0 && i < alert_ids->n; i++) {
        bool first = false;

        r = acknowledge(&one, ids[i], &first, err);
        if (r == 0 && first) {
            r = publish(&one, ids[i], NULL, err);
            done[ret->n++] = ids[i];
        }
        arena_reset(&scratch);
    }
    return r;
}

static struct str acknowledged_text(const struct list *alert_ids, struct arena *arena)
{
    const struct str *ids = alert_ids->items;
    BUF_SCOPED(out, SIZE_MAX); /* bounded: ids of stored alerts */

    buf_printf(&out, "{\"acknowledged\":%zu,\"alert_ids\":[", alert_ids->n);
    for (size_t i = 0; i < alert_ids->n && i < NAMED_MAX; i++) {
        buf_add_c(&out, i == 0 ? "" : ",");
        buf_add_json(&out, ids[i]);
    }
    buf_add_c(&out, "]}");
    return buf_take(&out, arena);
}

static int acknowledge_alerts(struct api_call *call, struct db *db, struct error *err)
{
    const struct alerts_acknowledge *body = call->body;
    struct alerts_acknowledged *answer = call->answer;
    const struct handling by = handling_by(call, db, body->note.len == 0 ? STR_NULL : body->note);
    struct list done;

    if (!str_is_null(by.note) && check_quota(call, err) != 0)
        return -1;
    if (acknowledge_all(&by, &body->alert_ids, &done, err) != 0)
        return -1;
    answer->acknowledged = (int64_t)done.n;
    call->audit_detail = acknowledged_text(&done, call->arena);
    return 0;
}

static int note_alert(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;
    const struct alert_note_set *body = call->body;
    const struct handling by = handling_by(call, db, body->note);
    bool full;

    call->audit_target = path->alert_id;
    if (check_quota(call, err) != 0 || set_note(&by, path->alert_id, err) != 0 ||
        add_entry(&by, path->alert_id, STR_LIT("note"), &full, err) != 0)
        return -1;
    if (full) /* the note is taken back with the transaction */
        return err_set(err, ERR_CONFLICT, "The alert has %d entries already", ALERT_HISTORY_MAX);
    return publish(&by, path->alert_id, call->answer, err);
}

static int show_history(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;
    const struct handling by = { .db = db, .tenant_id = call->tenant_id, .arena = call->arena };
    struct listing *answer = call->answer;

    if (check_exists(&by, path->alert_id, err) != 0)
        return -1;
    return alert_store_history(db, call->tenant_id, path->alert_id, call->arena, &answer->list,
                               err);
}

static int count_alerts(struct api_call *call, struct db *db, struct error *err)
{
    struct alert_counts *ret = call->answer;
    const struct alert_count *counts;

    *ret = (struct alert_counts){ 0 };
    if (alert_store_counts(db, call->tenant_id, COUNTED_MAX, call->arena, &ret->types, err) != 0)
        return -1;
    counts = ret->types.items;
    for (size_t i = 0; i < ret->types.n; i++) {
        ret->open += counts[i].open;
        ret->unacknowledged += counts[i].unacknowledged;
    }
    ret->complete = ret->open < COUNTED_MAX;
    return 0;
}

/* clang-format off */
#define ALERTS "/api/v1/tenants/{slug}/alerts"

const struct route alert_routes[] = {
    { ROUTE(GET, ALERTS, READ, 200), .read = list_alerts, .params = &tenant_path_shape, .query = &alerts_query_shape, .answer = &alert_list_shape, .tagged = true,
      .id = "list_alerts", .summary = "List alerts, newest first",
      .description = "Silent agents, failed and stuck runs, KPIs beyond a threshold and exceeded budgets. Pass `next` as `cursor` to read on; only a null `next` is the end." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, 200), .change = mute_agent, .topic = CHANGE_NOTHING, .params = &agent_path_shape, .body = &mute_set_shape, .answer = &mute_state_shape, .audit = "agent.mute",
      .id = "mute_agent", .summary = "Mute an agent's alerts",
      .description = "Until `until`, alerts of the agent are listed but not sent to webhooks. One that is still open then is sent." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, 200), .change = mute_agent, .topic = CHANGE_NOTHING, .params = &agent_path_shape, .answer = &mute_state_shape, .audit = "agent.unmute",
      .id = "unmute_agent", .summary = "Unmute an agent's alerts",
      .description = "Open alerts that were muted are sent to webhooks." },
    { ROUTE(GET, ALERTS "/counts", READ, 200), .read = count_alerts, .params = &tenant_path_shape, .answer = &alert_counts_shape, .tagged = true,
      .id = "count_alerts", .summary = "Count open alerts",
      .description = "In all and by type, and how many of them are not acknowledged." },
    { ROUTE(POST, ALERTS "/acknowledge", MEMBER, 200), .change = acknowledge_alerts, .topic = CHANGE_NOTHING, .params = &tenant_path_shape, .body = &alerts_acknowledge_shape, .answer = &alerts_acknowledged_shape, .also = ALSO_QUOTA, .audit = "alert.acknowledge",
      .id = "acknowledge_alerts", .summary = "Acknowledge many alerts",
      .description = "At most 1,000, all with the same note. An alert that was acknowledged before stays as it is and gets no note." },
    { ROUTE(POST, ALERTS "/{alert_id}/acknowledge", MEMBER, 200), .change = acknowledge_alert, .topic = CHANGE_NOTHING, .params = &alert_path_shape, .answer = &alert_shape, .audit = "alert.acknowledge",
      .id = "acknowledge_alert", .summary = "Acknowledge an alert",
      .description = "Records who takes care of it. The first acknowledgement stands. Its message is not repeated from then on." },
    { ROUTE(DELETE, ALERTS "/{alert_id}/acknowledge", MEMBER, 200), .change = unacknowledge_alert, .topic = CHANGE_NOTHING, .params = &alert_path_shape, .answer = &alert_shape, .audit = "alert.unacknowledge",
      .id = "unacknowledge_alert", .summary = "Take an acknowledgement back",
      .description = "The alert counts as not acknowledged again." },
    { ROUTE(POST, ALERTS "/{alert_id}/notes", MEMBER, 200), .change = note_alert, .topic = CHANGE_NOTHING, .also = ALSO_CONFLICT | ALSO_QUOTA, .params = &alert_path_shape, .body = &alert_note_set_shape, .answer = &alert_shape, .audit = "alert.note",
      .id = "add_alert_note", .summary = "Add a note to an alert",
      .description = "The newest note is shown with the alert, all of them in its history, which has at most 100 entries (409). Notes count for the quota of the plan." },
    { ROUTE(GET, ALERTS "/{alert_id}/history", READ, 200), .read = show_history, .params = &alert_path_shape, .answer = &alert_history_shape,
      .id = "get_alert_history", .summary = "Get what was done about an alert",
      .description = "Acknowledgements, notes and reminders, oldest first." },
    { 0 },
};
/* clang-format on */
