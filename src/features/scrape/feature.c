/* feature.c - a workspace's agents, runs, tokens, cost and KPIs as Prometheus reads them.
 *
 * The cost of an answer is bounded: the states of 10,000 agents, 1,000 of them
 * by name; the newest 10,000 runs of the range; 1,000 groups of usage; the KPIs
 * that a summary has; and bytes for each part. What is left out is told by
 * muster_workspace_truncated.
 */
#include "engine/feature.h"

#include <assert.h>
#include <stdio.h>

#include "api/api.h"
#include "api/call.h"
#include "api/exposition.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/agents/agents.h"
#include "features/agents/schedules/schedules.h"
#include "features/cost/prices.h"
#include "features/cost/usage.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "features/features.h"
#include "features/fleet/fleet.h"
#include "features/fleet/shapes.h"
#include "features/kpis/kpis.h"
#include "features/kpis/shapes.h"
#include "shape/table.h"
#include "shape/timerange.h"

/* Bytes of an answer. */
enum { SCRAPE_TEXT_MAX = 18 << 20 };

struct scrape {
    struct fleet_view view; /* of the workspace */
    struct prices *prices;
    struct time_range range;
    struct str time_range; /* the same, as given */
};

#define FAMILY(name) "muster_workspace_" name

enum {
    PART_BYTES =
        3 << 20, /* of agents' states, of their last signs, of runs, of usage and of KPIs */
    AGENTS_NAMED = 1000
};

/* What did not fit, in the order of part_names. */
enum part { PART_AGENTS, PART_RUNS, PART_USAGE, PART_KPIS, PARTS };
static const char *const part_names[] = { "agents", "runs", "llm", "kpis" };

struct writing {
    const struct scrape *scrape;
    struct db *db;
    struct arena *arena;
    struct buf *out;
    bool cut[PARTS];
};

/* Of one walk over the agents: counts, and the lines of two families, which stand apart. */
struct agents {
    int64_t in_state[LIVENESS_STATES];
    struct buf states, signs;
    struct exposition by_state, by_sign;
    size_t named;
    bool cut;
};

static void add_sign(struct agents *a, const struct exposition_label *label, int64_t at)
{
    char text[48];

    (void)snprintf(text, sizeof(text), "%lld.%06lld", (long long)(at / USEC_PER_SEC),
                   (long long)(at % USEC_PER_SEC));
    exposition_add(&a->by_sign, FAMILY("agent_last_seen_timestamp_seconds"), label, 1,
                   str_of(text));
}

static void add_agent(void *ctx, const struct fleet_state *agent)
{
    const struct exposition_label labels[] = { { "agent", agent->agent_name },
                                               { "state", str_of(liveness_names[agent->state]) } };
    struct agents *a = ctx;

    a->in_state[agent->state]++;
    if (a->named == AGENTS_NAMED) {
        a->cut = true;
        return;
    }
    a->named++;
    exposition_add_int(&a->by_state, FAMILY("agent_state"), labels, COUNT_OF(labels), 1);
    if (agent->last_seen_at != TIME_NULL && agent->last_seen_at >= 0)
        add_sign(a, labels, agent->last_seen_at);
}

static void add_counts(struct writing *w, const struct agents *a)
{
    struct exposition e;

    exposition_begin(&e, w->out, PART_BYTES);
    exposition_head(&e, FAMILY("agents"), "gauge", "Agents by state");
    for (size_t i = 0; liveness_names[i] != NULL; i++)
        exposition_add_int(&e, FAMILY("agents"),
                           &(struct exposition_label){ "state", str_of(liveness_names[i]) }, 1,
                           a->in_state[i]);
}

static int write_agents(struct writing *w, struct error *err)
{
    struct agents a = { 0 };
    bool more = false;
    int r;

    buf_init(&a.states, PART_BYTES + EXPOSITION_SAMPLE_MAX);
    buf_init(&a.signs, PART_BYTES + EXPOSITION_SAMPLE_MAX);
    exposition_begin(&a.by_state, &a.states, PART_BYTES);
    exposition_begin(&a.by_sign, &a.signs, PART_BYTES);
    r = fleet_walk(w->db, &w->scrape->view, add_agent, &a, &more, err);
    if (r == 0) {
        struct exposition e = { .out = w->out };

        add_counts(w, &a);
        exposition_head(&e, FAMILY("agent_state"), "gauge",
                        "1 for the state that each agent is in");
        buf_add(w->out, buf_str(&a.states));
        exposition_head(&e, FAMILY("agent_last_seen_timestamp_seconds"), "gauge",
                        "When each agent was last seen, in Unix time");
        buf_add(w->out, buf_str(&a.signs));
        w->cut[PART_AGENTS] = more || a.cut || a.by_state.cut || a.by_sign.cut;
    }
    buf_done(&a.states);
    buf_done(&a.signs);
    return r;
}

static int write_runs(struct writing *w, struct error *err)
{
    struct run_count_list list;
    const struct run_count *counts;
    struct exposition e;

    if (runs_count(w->db, w->scrape->view.tenant->id, &w->scrape->range, w->arena, &list, err) != 0)
        return -1;
    counts = list.counts.items;
    exposition_begin(&e, w->out, PART_BYTES);
    exposition_head(&e, FAMILY("runs"), "gauge",
                    "Runs that started in the time range, by agent and state");
    for (size_t i = 0; i < list.counts.n; i++) {
        const struct exposition_label labels[] = {
            { "agent", counts[i].agent_name },
            { "state", str_of(run_status_names[counts[i].status]) },
        };

        exposition_add_int(&e, FAMILY("runs"), labels, COUNT_OF(labels), counts[i].n);
    }
    w->cut[PART_RUNS] = list.cut || e.cut;
    return 0;
}

static void add_tokens(struct exposition *e, const struct usage_part *part)
{
    const struct {
        const char *name;
        int64_t n;
    } classes[] = { { "input", part->sums.input_tokens },
                    { "output", part->sums.output_tokens },
                    { "cache_read", part->sums.cache_read_tokens },
                    { "cache_write", part->sums.cache_write_tokens } };

    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        const struct exposition_label labels[] = { { "agent", part->agent_name },
                                                   { "model", part->model },
                                                   { "class", str_of(classes[i].name) } };

        exposition_add_int(e, FAMILY("llm_tokens"), labels, COUNT_OF(labels), classes[i].n);
    }
}

static void add_usage(struct writing *w, const struct usage_answer *usage)
{
    const struct usage_part *parts = usage->groups.items;
    struct exposition e;

    exposition_begin(&e, w->out, PART_BYTES);
    exposition_head(&e, FAMILY("llm_tokens"), "gauge", "LLM tokens in the time range");
    for (size_t i = 0; i < usage->groups.n; i++)
        add_tokens(&e, &parts[i]);
    exposition_head(&e, FAMILY("llm_calls"), "gauge", "LLM calls in the time range");
    for (size_t i = 0; i < usage->groups.n; i++)
        exposition_add_int(&e, FAMILY("llm_calls"),
                           (struct exposition_label[]){ { "agent", parts[i].agent_name },
                                                        { "model", parts[i].model } },
                           2, parts[i].sums.calls);
    exposition_head(&e, FAMILY("llm_cost_usd"), "gauge",
                    "Cost of the LLM tokens that have a price, in the time range");
    for (size_t i = 0; i < usage->groups.n; i++)
        if (!str_is_null(parts[i].sums.cost))
            exposition_add(&e, FAMILY("llm_cost_usd"),
                           (struct exposition_label[]){ { "agent", parts[i].agent_name },
                                                        { "model", parts[i].model } },
                           2, parts[i].sums.cost);
    w->cut[PART_USAGE] = usage->truncated || e.cut;
    exposition_begin(&e, w->out, PART_BYTES);
    exposition_head(&e, FAMILY("llm_unpriced_models"), "gauge",
                    "Models used in the time range that have no price");
    exposition_add_int(&e, FAMILY("llm_unpriced_models"), NULL, 0, (int64_t)usage->unpriced.n);
}

static int write_usage(struct writing *w, struct error *err)
{
    const struct usage_request request = { .tenant = w->scrape->view.tenant,
                                           .prices = w->scrape->prices,
                                           .range = w->scrape->range,
                                           .groups = GROUP_AGENT | GROUP_MODEL };
    struct usage_answer usage = { 0 };

    if (usage_read(w->db, &request, w->arena, &usage, err) != 0)
        return -1;
    add_usage(w, &usage);
    return 0;
}

/* Numbers only: a text has no place in a sample. */
static void add_kpi(struct exposition *e, const struct kpi_summary_row *row)
{
    const struct exposition_label labels[] = {
        { "agent", row->agent_name },
        { "key", row->key },
        { "unit", row->unit },
        { "agg", str_is_null(row->agg) ? STR_LIT("last") : row->agg },
    };

    if (!str_is_null(row->value) && row->value.len > 0 && row->value.data[0] != '"')
        exposition_add(e, FAMILY("kpi"), labels, COUNT_OF(labels), row->value);
}

static int write_kpis(struct writing *w, struct error *err)
{
    const struct kpi_reader reader = { w->db, w->scrape->view.tenant->id, w->scrape->view.now_us,
                                       w->arena, NULL };
    const struct summary_query query = { w->scrape->time_range };
    struct kpi_summary summary = { 0 };
    const struct kpi_summary_row *rows;
    struct exposition e;

    if (kpis_summary(&reader, &query, &summary, err) != 0)
        return -1;
    rows = summary.kpis.items;
    exposition_begin(&e, w->out, PART_BYTES);
    exposition_head(&e, FAMILY("kpi"), "gauge",
                    "Business KPIs over the time range, as each is aggregated");
    for (size_t i = 0; i < summary.kpis.n; i++)
        add_kpi(&e, &rows[i]);
    w->cut[PART_KPIS] = summary.truncated || e.cut;
    return 0;
}

static void write_limits(struct writing *w)
{
    const struct time_range *range = &w->scrape->range;
    struct exposition e;

    exposition_begin(&e, w->out, PART_BYTES);
    if (range->since != TIME_NULL) {
        exposition_head(&e, FAMILY("range_seconds"), "gauge", "Length of the time range");
        exposition_add_int(&e, FAMILY("range_seconds"), NULL, 0,
                           (range->until - range->since) / USEC_PER_SEC);
    }
    exposition_head(&e, FAMILY("truncated"), "gauge",
                    "1 if a part of this answer is incomplete, because it has too many rows");
    for (size_t i = 0; i < PARTS; i++)
        exposition_add_int(&e, FAMILY("truncated"),
                           &(struct exposition_label){ "part", str_of(part_names[i]) }, 1,
                           w->cut[i]);
}

static int scrape_write(struct db *db, const struct scrape *scrape, struct arena *arena,
                        struct buf *out, struct error *err)
{
    struct writing w = { .scrape = scrape, .db = db, .arena = arena, .out = out };

    if (write_agents(&w, err) != 0 || write_runs(&w, err) != 0 || write_usage(&w, err) != 0 ||
        write_kpis(&w, err) != 0)
        return -1;
    write_limits(&w);
    assert(!out->overflown);
    return 0;
}

struct scrape_query {
    struct str time_range;
};

/* clang-format off */
STATIC_SHAPE(scrape_query, "ScrapeQuery", (.row_rules = true),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"24h\"", .doc = "What runs, tokens, cost and KPIs are totalled over. " TIME_RANGE_DOC));
/* clang-format on */

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
        call_reply_text(call, EXPOSITION_TYPE, text);
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
