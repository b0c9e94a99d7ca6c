/* shapes.c - the tables of alerts. */
#include "features/alerts/shapes.h"

#include "shape/table.h"

const char *const alert_state_names[] = { "open", "closed", NULL };

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct alerts_query
static const struct field alerts_query_fields[] = {
    { INT(limit),      .absent = "50", .least = 1, .most = 1000 },
    { STR(cursor),     .max = 64, .flags = F_NULL, .doc = "The next of the page before." },
    { ENUM(state),     .flags = F_NULL, .choices = alert_state_names },
    { STR(type),       .max = 64, .flags = F_NULL, .doc = "agent.silent, run.stuck …" },
    { STR(agent_name), .flags = F_NULL },
};
#undef OWNER

#define OWNER struct alert
static const struct field alert_fields[] = {
    { STR(alert_id),         .flags = F_REQUIRED },
    { STR(type),             .flags = F_REQUIRED, .doc = "agent.silent, run.stuck …" },
    { STR(state),            .flags = F_REQUIRED, .choices = alert_state_names },
    { STR(agent_name),       .flags = F_REQUIRED | F_NULL },
    { STR(run_id),           .flags = F_REQUIRED | F_NULL },
    { TIME(since_at),        .flags = F_REQUIRED, .doc = "When it began: the last sign of life, the start of the run." },
    { TIME(opened_at),       .flags = F_REQUIRED },
    { TIME(closed_at),       .flags = F_REQUIRED | F_NULL },
    { STR(closed_by),        .flags = F_REQUIRED | F_NULL, .doc = "seen, closed, disabled, deleted, interval, retention …" },
    { OPT_INT(away_seconds), .flags = F_REQUIRED | F_NULL, .doc = "How long the agent was away, once it is back." },
    { TIME(acknowledged_at), .flags = F_REQUIRED | F_NULL },
    { STR(acknowledged_by),  .flags = F_REQUIRED | F_NULL },
    { BOOL(muted),           .flags = F_REQUIRED, .doc = "Nobody was told: its agent was muted when it opened, and since." },
    { OBJECT(detail),        .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct alert_list
static const struct field alert_list_fields[] = {
    { LIST(alerts, alert_shape), .flags = F_REQUIRED, .doc = "Newest first." },
    { STR(next),                 .flags = F_REQUIRED | F_NULL, .doc = "Null when there are no more." },
};
#undef OWNER

#define OWNER struct alert_path
static const struct field alert_path_fields[] = {
    { STR(slug),     .flags = F_REQUIRED },
    { STR(alert_id), .max = 64, .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct mute_set
static const struct field mute_set_fields[] = {
    { TIME(until), .flags = F_REQUIRED, .doc = "Until then nobody is told of the agent's alerts." },
};
#undef OWNER

#define OWNER struct mute_state
static const struct field mute_state_fields[] = {
    { STR(agent_name),   .flags = F_REQUIRED },
    { TIME(muted_until), .flags = F_REQUIRED | F_NULL },
};
#undef OWNER
#undef MEMBER
/* clang-format on */

const struct shape alerts_query_shape = {
    SHAPE_OF("AlertsQuery", struct alerts_query, alerts_query_fields),
};

const struct shape alert_shape = {
    SHAPE_OF("Alert", struct alert, alert_fields),
    .doc = "Something that people should know of.",
};

const struct shape alert_list_shape = {
    SHAPE_OF("AlertList", struct alert_list, alert_list_fields),
    .doc = "A page of alerts.",
};

const struct shape alert_path_shape = {
    SHAPE_OF("AlertPath", struct alert_path, alert_path_fields),
};

const struct shape mute_set_shape = {
    SHAPE_OF("MuteSet", struct mute_set, mute_set_fields),
};

const struct shape mute_state_shape = {
    SHAPE_OF("MuteState", struct mute_state, mute_state_fields),
    .doc = "Until when nobody is told of an agent's alerts.",
};
