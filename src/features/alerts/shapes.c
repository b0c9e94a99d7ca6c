/* shapes.c - the shapes of alerts, and of acknowledgements, notes and the history of one. */
#include "features/alerts/shapes.h"

#include "shape/table.h"

const char *const alert_state_names[] = { "open", "closed", NULL };

static const char *const entry_names[] = { "acknowledged", "unacknowledged", "note", "reminded",
                                           NULL };

/* clang-format off */
SHAPE(alerts_query, "AlertsQuery", (),
    INT(limit,      .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(cursor,     .max = 64, .flags = F_NULL, .doc = "The next of the previous page."),
    ENUM(state,     .flags = F_NULL, .choices = alert_state_names, .doc = "Only alerts in this state."),
    STR(type,       .max = 64, .flags = F_NULL, .doc = "Such as agent.silent or run.stuck."),
    STR(agent_name, .flags = F_NULL, .doc = "Only alerts of this agent."),
    OPT_BOOL(acknowledged, .flags = F_NULL, .doc = "Only alerts that are acknowledged, or only those that are not."));

SHAPE(alert, "Alert", (.doc = "A condition that needs attention.",
      .example = EXAMPLE({"alert_id": "71", "type": "agent.silent", "state": "open", "agent_name": "invoice-reader", "note": "The server is being replaced", "detail": {"interval_seconds": 3600}})),
    STR(alert_id,         .flags = F_REQUIRED, .doc = "Identifies the alert."),
    STR(type,             .flags = F_REQUIRED, .doc = "Such as agent.silent or run.stuck."),
    STR(state,            .flags = F_REQUIRED, .choices = alert_state_names, .doc = "open while the condition holds, then closed."),
    STR(agent_name,       .flags = F_REQUIRED | F_NULL, .doc = "The agent that it is about. Null: the tenant as a whole."),
    STR(run_id,           .flags = F_REQUIRED | F_NULL, .doc = "The run that it is about. Null: no single run."),
    TIME(since_at,        .flags = F_REQUIRED, .doc = "When the condition began: when the agent was last seen, or the run started."),
    TIME(opened_at,       .flags = F_REQUIRED, .doc = "When the alert was raised."),
    TIME(closed_at,       .flags = F_REQUIRED | F_NULL, .doc = "When the alert was closed. Null: it is open."),
    STR(closed_by,        .flags = F_REQUIRED | F_NULL, .doc = "Reason, such as seen, closed, disabled, deleted, interval or retention."),
    OPT_INT(away_seconds, .flags = F_REQUIRED | F_NULL, .doc = "How long the agent was silent, once it is back."),
    TIME(acknowledged_at, .flags = F_REQUIRED | F_NULL, .doc = "When a person acknowledged it. Null: not yet."),
    STR(acknowledged_by,  .flags = F_REQUIRED | F_NULL, .doc = "Who acknowledged it. Null: not yet acknowledged."),
    STR(note,             .flags = F_REQUIRED | F_NULL, .doc = "The newest note of a person. Null: no notes."),
    TIME(reminded_at,     .flags = F_REQUIRED | F_NULL, .doc = "When its message was last repeated. Null: never."),
    BOOL(muted,           .flags = F_REQUIRED, .doc = "No notification was sent because the agent has been muted since the alert opened."),
    OBJECT(detail,        .flags = F_REQUIRED, .doc = "Details, which depend on the type."));

LIST_SHAPE(alert_list, "AlertList", (.doc = "A page of alerts."),
    ITEMS("alerts", alert_shape, .flags = F_REQUIRED, .doc = "Newest first."),
    STR(next,                 .flags = F_REQUIRED | F_NULL, .doc = "Cursor of the next page. Null: last page."));

SHAPE(alert_path, "AlertPath", (.example = EXAMPLE({"slug": "acme", "alert_id": "71"})),
    STR(slug,     .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(alert_id, .max = 64, .flags = F_REQUIRED, .doc = "Identifies the alert."));

SHAPE(mute_set, "MuteSet", (.doc = "How long to mute an agent's alerts.",
      .example = EXAMPLE({"until": "2026-01-16T08:00:00Z"})),
    TIME(until, .flags = F_REQUIRED, .doc = "Mute the agent's alerts until then."));

SHAPE(mute_state, "MuteState", (.doc = "Until when an agent's alerts are muted.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "muted_until": "2026-01-16T08:00:00Z"})),
    STR(agent_name,   .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    TIME(muted_until, .flags = F_REQUIRED | F_NULL, .doc = "The alerts of the agent are muted until then. Null: they are not."));

SHAPE(alert_entry, "AlertEntry", (.doc = "Something that was done about an alert.",
      .example = EXAMPLE({"entry_id": "ale_71", "what": "acknowledged", "actor": "user:ada@example.com", "note": "The server is being replaced"})),
    STR(entry_id, .flags = F_REQUIRED, .doc = "Identifies the entry."),
    TIME(at,      .flags = F_REQUIRED, .doc = "When it happened."),
    STR(what,     .flags = F_REQUIRED, .choices = entry_names, .doc = "What was done."),
    STR(actor,    .flags = F_REQUIRED | F_NULL, .doc = "Who did it. Null: the service."),
    STR(note,     .flags = F_REQUIRED | F_NULL, .doc = "What the person wrote. Null: no note."));

LIST_SHAPE(alert_history, "AlertHistory", (.doc = "What was done about an alert."),
    ITEMS("entries", alert_entry_shape, .flags = F_REQUIRED, .doc = "Oldest first, at most 100."));

SHAPE(alerts_acknowledge, "AlertsAcknowledge", (.doc = "Alerts that a person takes care of.",
      .example = EXAMPLE({"alert_ids": ["alt_71", "alt_72"], "note": "The server is being replaced"})),
    LIST_STR(alert_ids, .max = ALERTS_AT_ONCE_MAX, .flags = F_REQUIRED, .doc = "Which alerts, at most 1,000."),
    STR(note,           .max = ALERT_NOTE_MAX, .flags = F_NULL, .doc = "A note for each that this request acknowledges."));

SHAPE(alerts_acknowledged, "AlertsAcknowledged", (.doc = "What a request to acknowledge alerts has done.",
      .example = EXAMPLE({"acknowledged": 2})),
    INT(acknowledged, .flags = F_REQUIRED, .doc = "How many were acknowledged by this request. Those that were acknowledged before, and ids that are not known, do not count."));

SHAPE(alert_note_set, "AlertNoteSet", (.doc = "A note about an alert.",
      .example = EXAMPLE({"note": "The server is being replaced"})),
    STR(note, .min = 1, .max = ALERT_NOTE_MAX, .flags = F_REQUIRED, .doc = "What others should know."));

SHAPE(alert_count, "AlertCount", (.doc = "Open alerts of one type.",
      .example = EXAMPLE({"type": "agent.silent", "open": 3, "unacknowledged": 1})),
    STR(type,           .flags = F_REQUIRED, .doc = "Such as agent.silent or run.stuck."),
    INT(open,           .flags = F_REQUIRED, .doc = "How many are open."),
    INT(unacknowledged, .flags = F_REQUIRED, .doc = "How many of them are not acknowledged."));

SHAPE(alert_counts, "AlertCounts", (.doc = "How many alerts are open.",
      .example = EXAMPLE({"open": 3, "unacknowledged": 1, "complete": true})),
    INT(open,                      .flags = F_REQUIRED, .doc = "How many are open."),
    INT(unacknowledged,            .flags = F_REQUIRED, .doc = "How many of them are not acknowledged."),
    BOOL(complete,                 .flags = F_REQUIRED, .doc = "False: more than 100,000 are open, and only that many were counted."),
    LIST(types, alert_count_shape, .flags = F_REQUIRED, .doc = "By type."));
/* clang-format on */
