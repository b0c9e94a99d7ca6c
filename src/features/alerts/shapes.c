/* shapes.c - the shapes of alerts. */
#include "features/alerts/shapes.h"

#include "shape/table.h"

const char *const alert_state_names[] = { "open", "closed", NULL };

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
/* clang-format on */
