/* routes.c - people acknowledge alerts, write notes, and read what was done. */
#include "features/alerts/routes.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/alerts/handling/handling.h"
#include "features/alerts/shapes.h"

enum { NAMED_MAX = 50 }; /* alerts in the audit entry of a request */

static struct handling handling_by(struct api_call *call, struct db *db, struct str note)
{
    return (struct handling){ db,
                              call->tenant_id,
                              clock_wall_us(),
                              auth_actor(call),
                              note,
                              call->change.write.txn->notes,
                              call->arena,
                              call->change.write.txn->bytes };
}

/* A note is stored like a report; all else that people do about alerts goes on. */
static int check_quota(struct api_call *call, struct error *err)
{
    return tenant_is_over_quota(call->tenant) ? auth_refuse_quota(call, err) : 0;
}

static int acknowledge_alert(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;
    const struct handling by = handling_by(call, db, STR_NULL);

    call->audit_target = path->alert_id;
    return handling_acknowledge(&by, path->alert_id, call->answer, err);
}

static int unacknowledge_alert(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;
    const struct handling by = handling_by(call, db, STR_NULL);

    call->audit_target = path->alert_id;
    return handling_unacknowledge(&by, path->alert_id, call->answer, err);
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
    if (handling_acknowledge_all(&by, &body->alert_ids, &done, err) != 0)
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

    call->audit_target = path->alert_id;
    if (check_quota(call, err) != 0)
        return -1;
    return handling_note(&by, path->alert_id, call->answer, err);
}

static int show_history(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;

    return handling_history(db, call->tenant_id, path->alert_id, call->arena, call->answer, err);
}

static int count_alerts(struct api_call *call, struct db *db, struct error *err)
{
    return handling_count(db, call->tenant_id, call->arena, call->answer, err);
}

/* clang-format off */
#define ALERTS "/api/v1/tenants/{slug}/alerts"

const struct route handling_routes[] = {
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
