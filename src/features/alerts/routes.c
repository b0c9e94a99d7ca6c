/* routes.c - alerts as people read and acknowledge them, and agents that are muted. */
#include "features/agents/shapes.h"
#include "features/alerts/alerts.h"

#include "api/call.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "features/access/registry.h"
#include "features/alerts/shapes.h"

static int read_alerts(struct api_call *call, struct db *db, struct error *err)
{
    return alerts_list(db, call->tenant, call->query, call->arena, call->answer, err);
}

void get_alerts(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct alert_list);
    call_read(call, read_alerts);
}

static int acknowledge(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_path *path = call->params;
    const struct alert_row row = { .tenant_id = call->tenant->id,
                                   .alert_id = path->alert_id,
                                   .acknowledged_at = clock_wall_us(),
                                   .acknowledged_by = call_actor(call) };

    call->audit_target = path->alert_id;
    return alerts_acknowledge(db, &row, call->arena, call->answer, err);
}

void acknowledge_alert(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct alert);
    call_change(call, acknowledge);
}

/* A DELETE has no body, and ends it. */
static int mute(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct mute_set *set = call->body;
    struct mute_state *answer = call->answer;

    call->audit_target = path->agent_name;
    *answer = (struct mute_state){ path->agent_name, set == NULL ? TIME_NULL : set->until };
    return alerts_mute(db, call->tenant->id, answer, err);
}

void change_mute(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct mute_state);
    call_change(call, mute);
}
