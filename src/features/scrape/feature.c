/* feature.c - a workspace's numbers in Prometheus' text format. */
#include "engine/feature.h"

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/shapes.h"
#include "features/agents/agents.h"
#include "features/cost/prices.h"
#include "features/features.h"
#include "features/scrape/scrape.h"
#include "shape/rule.h"
#include "shape/table.h"

struct scrape_query {
    struct str time_range;
};

/* clang-format off */
STATIC_SHAPE(scrape_query, "ScrapeQuery", (.row_rules = true),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"24h\"", .doc = "What runs, tokens, cost and KPIs are totalled over. " TIME_RANGE_DOC));
/* clang-format on */

#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

static int write_metrics(struct api_call *call, struct db *db, struct error *err)
{
    const struct scrape_query *query = call->query;
    struct engine *engine = call->api->engine;
    struct scrape scrape = { .view = { .tenant = call->tenant,
                                       .cache = agents_cache(engine),
                                       .directives = agents_directives(engine),
                                       .now_us = clock_wall_us() },
                             .prices = cost_prices(engine),
                             .time_range = query->time_range };
    const char *sentence = timerange_parse(query->time_range, scrape.view.now_us, &scrape.range);
    struct buf *text = call->own;

    if (sentence != NULL) /* the query's rule has read it */
        return err_set(err, ERR_INTERNAL, "%s", sentence);
    buf_clear(text); /* of an earlier attempt */
    return scrape_write(db, &scrape, call->arena, text, err);
}

static void send_metrics(struct api_call *call, const struct error *err)
{
    struct buf *text = call->own;

    if (err == NULL) {
        call_reply_text(call, CONTENT_TYPE, text);
        return;
    }
    buf_done(text);
    call_reply(call, err);
}

static int begin_metrics(struct api_call *call, struct error *err)
{
    struct buf *text = ARENA_NEW(call->arena, struct buf);

    buf_init(text, SCRAPE_TEXT_MAX);
    call->own = text;
    return call_read(call, write_metrics, send_metrics, err);
}

/* clang-format off */
static const char *const scrape_media[] = { "text/plain", NULL };

static const struct route scrape_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/metrics", READ, 200), .handler = begin_metrics, .params = &tenant_path_shape, .query = &scrape_query_shape, .media = scrape_media,
      .sample = "# HELP muster_workspace_agents Agents by state.\n# TYPE muster_workspace_agents gauge\nmuster_workspace_agents{state=\"up\"} 3\n",
      .id = "get_workspace_metrics", .summary = "Get a workspace's metrics for Prometheus",
      .description = "Agents by state and when each was last seen, and over `time_range` runs by state, LLM tokens and cost, and KPIs, in Prometheus' text format. `muster_workspace_truncated` says which parts are incomplete." },
    { 0 },
};
/* clang-format on */

const struct feature scrape_feature = {
    .name = "scrape",
    .about = "A workspace's numbers for Prometheus.",
    .routes = { scrape_routes },
};
