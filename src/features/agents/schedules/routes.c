/* routes.c - schedules of agents and maintenance windows, for people. */
#include "features/agents/routes.h"
#include "api/call.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/shapes.h"
#include "features/agents/schedules/schedules.h"
#include "features/agents/schedules/shapes.h"
#include "features/agents/shapes.h"
#include "shape/rows.h"

/* Without a body (DELETE) the agent's own interval counts again. */
static int set_schedule(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct schedule_set *set = call->body;
    struct schedule_state *answer = call->answer;

    call->audit_target = path->agent_name;
    answer->agent_name = path->agent_name;
    if (schedules_set(db, call->tenant_id, set, call->arena, answer, err) != 0)
        return -1;
    if (answer->schedule != NULL)
        call->audit_detail = rows_json_of(&schedule_state_shape, "schedule", answer, call->arena);
    return 0;
}

static struct windows_call windows_of(const struct api_call *call, struct db *db)
{
    return (struct windows_call){ db, call->tenant_id, clock_wall_us(), call->arena };
}

static int list_windows(struct api_call *call, struct db *db, struct error *err)
{
    const struct windows_call windows = windows_of(call, db);

    return windows_show(&windows, call->answer, err);
}

static int add_window(struct api_call *call, struct db *db, struct error *err)
{
    const struct windows_call windows = windows_of(call, db);
    struct maintenance_window *answer = call->answer;

    if (windows_add(&windows, call->body, auth_actor(call), answer, err) != 0)
        return -1;
    call->audit_target = answer->window_id;
    return 0;
}

static int remove_window(struct api_call *call, struct db *db, struct error *err)
{
    const struct windows_call windows = windows_of(call, db);
    const struct window_path *path = call->params;

    call->audit_target = path->window_id;
    if (windows_remove(&windows, path->window_id, err) != 0)
        return -1;
    return windows_show(&windows, call->answer, err);
}

/* clang-format off */
const struct route schedule_routes[] = {
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/schedule", ADMIN, 200), .change = set_schedule, .params = &agent_path_shape, .body = &schedule_set_shape, .answer = &schedule_state_shape, .audit = "agent.schedule",
      .id = "set_agent_schedule", .summary = "Set when an agent is expected to report",
      .description = "By interval or by cron expression, with grace, or paused. It goes before the interval that the agent declares, and counts from now on. 409 if the agent declares no interval and the body has none." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/schedule", ADMIN, 200), .change = set_schedule, .params = &agent_path_shape, .answer = &schedule_state_shape, .audit = "agent.unschedule",
      .id = "unset_agent_schedule", .summary = "Expect an agent as it declares",
      .description = "Removes the schedule that a person set." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/maintenance", READ, 200), .read = list_windows, .params = &tenant_path_shape, .answer = &window_list_shape,
      .id = "list_maintenance_windows", .summary = "List maintenance windows",
      .description = "Times in which no agent falls silent." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/maintenance", MEMBER, 201), .change = add_window, .params = &tenant_path_shape, .body = &window_create_shape, .answer = &maintenance_window_shape, .audit = "maintenance.add",
      .id = "create_maintenance_window", .summary = "Plan maintenance",
      .description = "Once or each week, for one agent or all. No alert of a silent agent opens in a window, and reports still count; an agent that was expected in it is expected again after it. At most 100 a workspace; those that are over are deleted a month later." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/maintenance/{window_id}", MEMBER, 200), .change = remove_window, .params = &window_path_shape, .answer = &window_list_shape, .audit = "maintenance.remove",
      .id = "delete_maintenance_window", .summary = "Remove a maintenance window",
      .description = "One that is going on ends now. Answers with the others." },
    { 0 },
};
/* clang-format on */
