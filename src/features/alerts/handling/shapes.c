/* shapes.c - the shapes of acknowledgements, notes and the history of an alert. */
#include "features/alerts/handling/shapes.h"

#include "shape/table.h"

static const char *const entry_names[] = { "acknowledged", "unacknowledged", "note", "reminded",
                                           NULL };

/* clang-format off */
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
