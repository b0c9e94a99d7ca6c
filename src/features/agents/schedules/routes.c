/* routes.c - schedules of agents and maintenance windows, for people. */
#include "features/agents/routes.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/digest.h"
#include "features/access/auth.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"
#include "features/agents/agents_store.h"
#include "features/agents/schedules/shapes.h"
#include "features/agents/schedules/store.h"
#include "features/agents/shapes.h"
#include "shape/rows.h"

enum { WINDOWS_MAX = 100, WEEK = 7 };

static const int64_t keep_us = 31LL * 86400 * USEC_PER_SEC; /* listed after they are over */

static struct schedule_row row_of(const struct schedule_set *set, int64_t now_us)
{
    if (set == NULL)
        return (struct schedule_row){ .scheduled_at = now_us };
    return (struct schedule_row){ .every_seconds = set->interval_seconds,
                                  .cron = set->cron,
                                  .time_zone = str_is_null(set->cron) ? STR_NULL : set->time_zone,
                                  .grace_seconds = set->grace_seconds,
                                  .paused = set->paused,
                                  .scheduled_at = now_us };
}

/* Without a body (DELETE) the agent's own interval counts again. ERR_CONFLICT: there would be
 * nothing to pause or to give grace to. */
static int set_schedule(struct api_call *call, struct db *db, struct error *err)
{
    const int64_t now_us = clock_wall_us();
    const struct agent_path *path = call->params;
    const struct schedule_row row = row_of(call->body, now_us);
    struct schedule_state *answer = call->answer;
    struct agent_row agent;

    call->audit_target = path->agent_name;
    answer->agent_name = path->agent_name;
    if (registry_about_schedules(db, call->tenant_id, err) != 0 ||
        agents_require(db, call->tenant_id, path->agent_name, &agent, err) != 0)
        return -1;
    answer->schedule = schedule_answer(&agent.interval_seconds, &row, now_us, call->arena);
    if (call->body != NULL && answer->schedule == NULL)
        return err_set(err, ERR_CONFLICT,
                       "agent '%.*s' declares no interval; set an interval or a cron expression",
                       STR_ARG(path->agent_name));
    if (answer->schedule != NULL)
        call->audit_detail = rows_json_of(&schedule_state_shape, "schedule", answer, call->arena);
    return schedule_put(db, call->tenant_id, agent.agent_id, &row, err);
}

static struct list names_of(int64_t weekdays, struct arena *arena)
{
    struct str *names = ARENA_ARRAY(arena, struct str, WEEK);
    size_t n = 0;

    for (int day = 0; day < WEEK; day++)
        if ((weekdays >> day & 1) != 0)
            names[n++] = str_of(weekday_names[day]);
    return (struct list){ names, n };
}

static int64_t bits_of(const struct list *weekdays)
{
    const struct str *names = weekdays->items;
    int64_t bits = 0;

    for (size_t i = 0; i < weekdays->n; i++)
        for (int day = 0; day < WEEK; day++)
            if (str_eq_c(names[i], weekday_names[day]))
                bits |= INT64_C(1) << day;
    return bits;
}

static bool is_active(const struct window_row *row, int64_t now_us)
{
    const struct window w = window_of(row);
    int64_t from, until;

    return window_covers(&w, now_us, now_us + 1, &from, &until);
}

static struct maintenance_window answer_of(const struct window_row *row, int64_t now_us,
                                           struct arena *arena)
{
    const bool is_weekly = row->weekdays != 0;

    return (struct maintenance_window){
        .window_id = row->window_id,
        .agent_name = row->agent_name,
        .note = row->note,
        .from = row->from_at,
        .until = row->until_at,
        .weekdays = names_of(row->weekdays, arena),
        .start = is_weekly ? arena_printf(arena, "%02d:%02d", (int)(row->start_minute / 60),
                                          (int)(row->start_minute % 60))
                           : STR_NULL,
        .minutes = is_weekly ? (struct opt_int){ true, row->minutes } : (struct opt_int){ 0 },
        .time_zone = row->time_zone,
        .active = is_active(row, now_us),
        .created_at = row->created_at,
        .created_by = row->created_by,
    };
}

static int list_windows(struct api_call *call, struct db *db, struct error *err)
{
    const int64_t now_us = clock_wall_us();
    struct listing *ret = call->answer;
    struct maintenance_window *windows;
    const struct window_row *rows;
    struct list list;
    size_t n = 0;

    if (windows_list(db, call->tenant_id, call->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    windows = ARENA_ARRAY(call->arena, struct maintenance_window, list.n);
    for (size_t i = 0; i < list.n; i++)
        if (!rows[i].ended)
            windows[n++] = answer_of(&rows[i], now_us, call->arena);
    ret->list = (struct list){ windows, n };
    return 0;
}

/* Is there room for one more, after those that are over were taken off the list? */
static int make_room(struct api_call *call, struct db *db, int64_t now_us, struct error *err)
{
    const struct window_row *rows;
    struct list list;
    size_t n = 0;

    if (windows_prune(db, call->tenant_id, now_us - keep_us, err) != 0 ||
        windows_list(db, call->tenant_id, call->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    for (size_t i = 0; i < list.n; i++)
        n += rows[i].ended ? 0 : 1;
    if (n >= WINDOWS_MAX)
        return err_set(err, ERR_CONFLICT,
                       "the workspace has %d maintenance windows; remove one first", WINDOWS_MAX);
    return 0;
}

static int add_window(struct api_call *call, struct db *db, struct error *err)
{
    const int64_t now_us = clock_wall_us();
    const struct window_create *body = call->body;
    struct maintenance_window *answer = call->answer;
    const bool is_weekly = body->weekdays.n > 0;
    struct agent_row agent = { 0 };
    struct window_row row = { .tenant_id = call->tenant_id,
                              .window_id = digest_time_id("mwn_", now_us, call->arena),
                              .agent_name = body->agent_name,
                              .note = body->note,
                              .from_at = body->from,
                              .until_at = body->until,
                              .weekdays = bits_of(&body->weekdays),
                              .start_minute = is_weekly ? window_minute(body->start) : 0,
                              .minutes = is_weekly ? body->minutes.value : 0,
                              .time_zone = is_weekly ? body->time_zone : STR_NULL,
                              .created_at = now_us,
                              .created_by = auth_actor(call) };

    if (registry_about_schedules(db, call->tenant_id, err) != 0 ||
        make_room(call, db, now_us, err) != 0)
        return -1;
    if (!str_is_null(body->agent_name)) {
        if (agents_require(db, call->tenant_id, body->agent_name, &agent, err) != 0)
            return -1;
        row.agent_id = (struct opt_int){ true, agent.agent_id };
    }
    *answer = answer_of(&row, now_us, call->arena);
    call->audit_target = row.window_id;
    return window_add(db, &row, err);
}

/* NULL when it is not listed. */
static int find_window(struct api_call *call, struct db *db, struct str window_id,
                       struct window_row **ret, struct error *err)
{
    struct window_row *rows;
    struct list list;

    if (windows_list(db, call->tenant_id, call->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    *ret = NULL;
    for (size_t i = 0; i < list.n; i++)
        if (!rows[i].ended && str_eq(rows[i].window_id, window_id))
            *ret = &rows[i];
    return 0;
}

/* The time that it covered last stays known: agents were not expected in it. One that is going on
 * counts until now, so that agents get a new start. */
static int end_window(struct api_call *call, struct db *db, struct window_row *row,
                      struct error *err)
{
    const int64_t now_us = clock_wall_us();
    const struct window w = window_of(row);
    int64_t from, until;

    if (!window_latest(&w, now_us, &from, &until) || until <= row->created_at)
        return window_delete(db, call->tenant_id, row->window_id, err);
    row->from_at = from;
    row->until_at = until < now_us ? until : now_us;
    if (window_close(db, row, err) != 0)
        return -1;
    return windows_prune(db, call->tenant_id, now_us - keep_us, err);
}

static int remove_window(struct api_call *call, struct db *db, struct error *err)
{
    const struct window_path *path = call->params;
    struct window_row *row;

    call->audit_target = path->window_id;
    if (registry_about_schedules(db, call->tenant_id, err) != 0 ||
        find_window(call, db, path->window_id, &row, err) != 0)
        return -1;
    if (row == NULL)
        return err_set(err, ERR_NOT_FOUND, "there is no maintenance window '%.*s'",
                       STR_ARG(path->window_id));
    return end_window(call, db, row, err) != 0 ? -1 : list_windows(call, db, err);
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
