/* tools.c - the rows of the tools, and their arguments as one shape. */
#include "features/mcp/tools.h"

#include <assert.h>

#include "api/route.h"
#include "shape/problems.h"
#include "shape/shape.h"

/* clang-format off */
const struct mcp_tool mcp_tools[] = {
    { .id = "list_agents", .title = "List agents",
      .description = "Agents of the workspace with their state (up, late, silent, unscheduled, never_reported, disabled), when each was last seen, and its last run. With order=trouble the ones that need attention come first, with counts by state; by name, pass next as cursor to read on." },
    { .id = "get_agent", .title = "Get an agent",
      .description = "One agent: its state, what it declares (KPIs, inputs, outputs, configuration), its versions, counts of its newest runs, and the model and command policy in effect." },
    { .id = "list_runs", .title = "List runs",
      .description = "Runs, newest first, with status, start, duration and error; filter by agent_name, status, time or workflow. Pass next as cursor to read on: only a null next is the end." },
    { .id = "get_run_totals", .title = "Count runs over time",
      .description = "Completed, failed and open runs per hour or day, and the most frequent error types. Use it for trends before listing single runs." },
    { .id = "get_run_events", .title = "Get the narrative of a run", .page = "100", .page_max = 1000,
      .description = "What one run reported, in order: its start, its steps with messages and progress, its end, and errors with their stack trace. Pass next as cursor to read on until it is null." },
    { .id = "get_kpi_catalog", .title = "List KPIs",
      .description = "The KPIs that agents declare: key, label, unit and aggregation. Use it to find keys for the other KPI tools." },
    { .id = "get_kpi_summary", .title = "Summarize KPIs",
      .description = "The value of every KPI over a time range and over the range before it, one row per agent and key." },
    { .id = "get_kpi_series", .title = "Get a KPI over time",
      .description = "One KPI as points over time." },
    { .id = "get_kpi_breakdown", .title = "Break a KPI down",
      .description = "One KPI by the dimensions that agents report, largest first. Without by, it lists the dimensions." },
    { .id = "get_llm_usage", .title = "Get LLM usage and cost",
      .description = "LLM tokens, calls and cost in US dollars over a time range, grouped by model, agent, run or day. Models without a price are listed in unpriced: their cost is unknown, not zero." },
    { .id = "list_alerts", .title = "List alerts",
      .description = "Alerts, newest first: silent agents, failed and stuck runs, KPIs beyond a threshold, exceeded budgets. state=open lists those that hold now. Pass next as cursor to read on: only a null next is the end." },
    { 0 },
};
/* clang-format on */

const struct mcp_tool *mcp_tool_find(struct str name)
{
    for (const struct mcp_tool *tool = mcp_tools; tool->id != NULL; tool++)
        if (str_eq_c(name, tool->id))
            return tool;
    return NULL;
}

const struct route *mcp_tool_route(const struct mcp_tool *tool, const struct route_table *routes)
{
    for (size_t i = 0; i < routes->n; i++) {
        const struct route *route = routes->entries[i].route;

        if (route->id != NULL && strcmp(route->id, tool->id) == 0) {
            assert(route->method == METHOD_GET && route->auth == AUTH_READ && route->read != NULL);
            return route;
        }
    }
    err_die("mcp: there is no operation '%s'", tool->id);
}

/* The struct that a tool's arguments fill: the path's parameters, then the query's. */
struct layout {
    size_t query_at, size;
    const struct field *slug; /* of the path; not an argument */
};

static void add_fields(struct field *fields, size_t *n, const struct shape *shape, size_t at)
{
    for (size_t i = 0; shape != NULL && i < shape->n_fields; i++) {
        fields[*n] = shape->fields[i];
        fields[(*n)++].offset += at;
    }
}

/* A page of a tool is read by a model: shorter than one that a program reads. */
static void set_page(const struct mcp_tool *tool, struct field *field)
{
    if (strcmp(field->name, "limit") != 0)
        return;
    if (tool->page != NULL)
        field->absent = tool->page;
    if (tool->page_max != 0)
        field->most = tool->page_max;
    if (tool->page_max != 0)
        field->doc = "How many items a page has at most.";
}

static struct shape arguments_of(const struct mcp_tool *tool, const struct route *route,
                                 struct arena *arena, struct layout *ret)
{
    enum { ALIGNMENT = _Alignof(max_align_t) };
    const struct shape *params = route->params, *query = route->query;
    size_t n_fields = params->n_fields + (query == NULL ? 0 : query->n_fields), n = 0;
    struct field *fields = ARENA_ARRAY(arena, struct field, n_fields);

    assert(strcmp(params->fields[0].name, "slug") == 0);
    ret->slug = &params->fields[0];
    ret->query_at = (params->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    ret->size = ret->query_at + (query == NULL ? 0 : query->size);
    add_fields(fields, &n, params, 0);
    add_fields(fields, &n, query, ret->query_at);
    for (size_t i = 0; i < n; i++)
        set_page(tool, &fields[i]);
    return (struct shape){ .name = tool->title,
                           .fields = fields + 1,
                           .n_fields = n - 1,
                           .size = ret->size,
                           .row_rules = true };
}

/* Arguments may be left out or null; the schema says only the former, which every model knows. */
static void write_tool(const struct mcp_tool *tool, const struct route *route, struct arena *arena,
                       struct buf *out)
{
    struct layout layout;
    struct shape shape = arguments_of(tool, route, arena, &layout);
    struct field *fields = ARENA_ARRAY(arena, struct field, shape.n_fields + 1);

    for (size_t i = 0; i < shape.n_fields; i++) {
        fields[i] = shape.fields[i];
        fields[i].flags &= ~F_NULL;
    }
    shape.fields = fields;
    buf_printf(out, "{\"name\":\"%s\",\"title\":\"%s\",\"description\":", tool->id, tool->title);
    buf_add_json(out, str_of(tool->description));
    buf_add_c(out, ",\"inputSchema\":");
    shape_write_schema(&shape, out);
    buf_printf(out,
               ",\"annotations\":{\"title\":\"%s\",\"readOnlyHint\":true,\"destructiveHint\":false,"
               "\"idempotentHint\":true,\"openWorldHint\":false}}",
               tool->title);
}

void mcp_tools_write(const struct route_table *routes, struct arena *arena, struct buf *out)
{
    buf_add_char(out, '[');
    for (const struct mcp_tool *tool = mcp_tools; tool->id != NULL; tool++) {
        if (tool > mcp_tools)
            buf_add_char(out, ',');
        write_tool(tool, mcp_tool_route(tool, routes), arena, out);
    }
    buf_add_char(out, ']');
}

int mcp_tool_read(const struct mcp_tool *tool, const struct route *route, struct str arguments,
                  struct arena *arena, struct mcp_input *input, struct problems *problems)
{
    struct layout layout;
    const struct shape shape = arguments_of(tool, route, arena, &layout);
    char *values = arena_zalloc(arena, shape.size);

    problems_set_strict(problems, true);
    if (shape_read_json(&shape, arguments, arena, values, problems) != 0)
        return -1;
    memcpy(values + layout.slug->offset, &input->slug, sizeof(input->slug));
    input->params = values;
    input->query = route->query == NULL ? NULL : values + layout.query_at;
    if (route->query == NULL || route->query->rules == NULL)
        return 0;
    problems_set_strict(problems, false); /* a rule may read shapes of its own */
    route->query->rules(input->query, arena, problems);
    return problems_count(problems) == 0 ? 0 : -1;
}
