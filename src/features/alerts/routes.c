/* routes.c - alerts as users read them, and muting of agents. */
#include "api/call.h"
#include "features/access/shapes.h"
#include "features/agents/agents.h"
#include "features/agents/shapes.h"
#include "features/alerts/alerts.h"
#include "features/alerts/shapes.h"

enum {
    SCAN_MAX = 10000, /* alerts scanned per page */
    SCAN_STEP = 200   /* alerts read per query */
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

/* clang-format off */
const struct route alert_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/alerts", READ, 200), .read = list_alerts, .params = &tenant_path_shape, .query = &alerts_query_shape, .answer = &alert_list_shape, .tagged = true,
      .id = "list_alerts", .summary = "List alerts, newest first",
      .description = "Silent agents, failed and stuck runs, KPIs beyond a threshold and exceeded budgets. Pass `next` as `cursor` to read on; only a null `next` is the end." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, 200), .change = mute_agent, .topic = CHANGE_NOTHING, .params = &agent_path_shape, .body = &mute_set_shape, .answer = &mute_state_shape, .audit = "agent.mute",
      .id = "mute_agent", .summary = "Mute an agent's alerts",
      .description = "Until `until`, alerts of the agent are listed but not sent to webhooks. One that is still open then is sent." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, 200), .change = mute_agent, .topic = CHANGE_NOTHING, .params = &agent_path_shape, .answer = &mute_state_shape, .audit = "agent.unmute",
      .id = "unmute_agent", .summary = "Unmute an agent's alerts",
      .description = "Open alerts that were muted are sent to webhooks." },
    { 0 },
};
/* clang-format on */
