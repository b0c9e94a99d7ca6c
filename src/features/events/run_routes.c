/* run_routes.c - runs as front ends read them. */
#include "features/events/runs.h"

#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/access/shapes.h"
#include "features/events/event_log.h"
#include "features/events/routes.h"
#include "features/events/shapes.h"

enum { SHORT_PAGE = 100 }; /* runs */

static int read_narrative(struct api_call *call, struct db *db, struct error *err)
{
    const struct run_path *path = call->params;
    const struct run_key key = { call->tenant, path->run_id, call->query };

    return run_read(events_log(call->api->engine), db, &key, call->arena, call->answer, err);
}

static int list_runs(struct api_call *call, struct db *db, struct error *err)
{
    const struct run_list_request request = { call->api->engine, call->tenant, call->query };

    return run_list_read(db, &request, call->arena, call->answer, err);
}

/* May the page be read on the loop? Not when a filter skips runs that were read, when steps or cost
 * are wanted, or when the page is large. */
static bool is_short(const struct runs_query *query)
{
    const bool filters = query->status >= 0 || runs_query_is_sorted(query) ||
                         !str_is_null(query->agent_version) || !str_is_null(query->error_type) ||
                         !str_is_null(query->q) || query->untyped ||
                         (!str_is_null(query->agent_name) && !str_is_null(query->workflow_run_id));

    return !filters && !query->include_steps && !query->include_cost && query->limit <= SHORT_PAGE;
}

static int begin_list_runs(struct api_call *call, struct error *err)
{
    return is_short(call->query) ? call_read_inline(call, err) : call_proceed(call, err);
}

enum { REBUILD_STEP = 500 }; /* runs per transaction at most */

static int rebuild_runs(struct api_call *call, struct db *db, struct error *err)
{
    const struct rebuild_query *query = call->query;

    return store_runs_rebuild(db, call->tenant_id, query->after, REBUILD_STEP, call->answer, err);
}

/* clang-format off */
const struct route run_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/dashboard/runs", READ, 200), .handler = begin_list_runs, .read = list_runs, .params = &tenant_path_shape, .query = &runs_query_shape, .answer = &run_list_shape, .tagged = true,
      .id = "list_runs", .summary = "List runs, newest first",
      .description = "Sorted by start, then by `run_id`. Pass `next` as `cursor` to read on: a page may have fewer runs than `limit`, and only a null `next` is the end." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/dashboard/facets", READ, 200), .read = run_facets_read, .params = &tenant_path_shape, .query = &run_facets_query_shape, .answer = &run_facets_shape, .tagged = true,
      .id = "get_run_facets", .summary = "Count runs by the values they can be filtered by",
      .description = "Takes the filters of the list of runs. The values of each filter are counted as if only the others were set: choosing one leads to as many runs. At most the newest 10,000 runs of the range are examined, and 2,000 with `q`." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/runs/{run_id}/events", READ, 200), .handler = call_read_inline, .read = read_narrative, .params = &run_path_shape, .query = &narrative_query_shape, .answer = &run_narrative_shape, .tagged = true,
      .id = "get_run_events", .summary = "Get the events of a run",
      .description = "Ordered by `seq`, timestamp and arrival. Without `limit` and `cursor` all events are answered if they take at most 16 MiB, else the first page; pass `next` as `cursor` to read on, until it is null. `export/events?run_id=` streams a run of any size. With `q`, `level` or `category` a page examines at most 10,000 events, so it may be short or empty although more follow." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/runs/{run_id}/timeline", READ, 200), .read = run_timeline_read, .params = &run_path_shape, .answer = &run_timeline_shape, .tagged = true,
      .id = "get_run_timeline", .summary = "Sum up the events of a run by category and time",
      .description = "Each category has the numbers of its events, errors and warnings, and when they happened: at most 200 ticks, which cover the time of the run. At most 24 categories are told apart, and 200,000 events counted." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/runs/rebuild", PLATFORM, 200), .change = rebuild_runs, .topic = CHANGE_RUNS, .params = &tenant_path_shape, .query = &rebuild_query_shape, .answer = &runs_rebuild_shape, .audit = "runs.rebuild",
      .id = "rebuild_runs", .summary = "Rebuild run states from events (one page)",
      .description = "Each call rebuilds one page of runs. Repeat it with `after` set to the answer's `next` until that is null." },
    { 0 },
};
/* clang-format on */
