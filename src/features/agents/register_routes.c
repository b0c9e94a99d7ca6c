/* register_routes.c - registration of agents. */
#include "api/call.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/config/catalog_store.h"
#include "features/agents/registrations.h"
#include "features/agents/report.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/agents/vocabulary.h"
#include "http/exchange.h"

/* A parameter without an entry is treated by its name, but cannot be classified. */
static struct list add_warning(struct list warnings, struct str warning, struct arena *arena)
{
    struct str *items = ARENA_ARRAY(arena, struct str, warnings.n + 1);

    if (warnings.n > 0)
        memcpy(items, warnings.items, warnings.n * sizeof(*items));
    items[warnings.n] = warning;
    return (struct list){ items, warnings.n + 1 };
}

static int fill_registered(struct api_call *call, struct error *err)
{
    const struct registration_request *request = call->own;
    const struct agent_register *body = call->body;
    struct agent_registered *answer = call->answer;
    struct report_words words;

    if (report_words(call, request->verdict, body->agent_name, &words, err) != 0)
        return -1;
    *answer = (struct agent_registered){
        .status = request->is_new ? STR_LIT("registered") : STR_LIT("updated"),
        .agent_name = body->agent_name,
        .agent_version = body->agent_version,
        .kpis = (int64_t)body->business_kpis.n,
        .params = body->config_schema == NULL ? 0 : (int64_t)body->config_schema->params.n,
        .warnings = vocabulary_warnings(body, call->arena),
    };
    if (request->catalog_full)
        answer->warnings = add_warning(
            answer->warnings,
            arena_printf(call->arena,
                         "the catalog has %d parameters or more: new ones were not added to it",
                         CATALOG_MAX),
            call->arena);
    return 0;
}

static int register_agent(struct api_call *call, struct error *err)
{
    const struct agent_register *body = call->body;
    struct registration_request *request;

    if (auth_may_report(call, STR_NULL, body->agent_name, err) != 0)
        return -1;
    request = ARENA_NEW(call->arena, struct registration_request);
    *request = (struct registration_request){ .tenant = call->key->tenant,
                                              .body = body,
                                              .arena = call->arena,
                                              .bytes = call->exchange->request.body.len,
                                              .received_at = clock_wall_us() };
    call->own = request;
    registrations_prepare(request);
    return call_submit(call, &request->job, fill_registered, err);
}

/* clang-format off */
const struct route register_routes[] = {
    { ROUTE(POST, "/api/v1/agents/register", REPORT, 200), .handler = register_agent, .body = &agent_register_shape, .answer = &agent_registered_shape,
      .id = "register_agent", .summary = "Register an agent",
      .description = "Replaces everything that the agent declared before: version, description, interval, KPIs, inputs, outputs and configuration schema. Words outside the vocabularies are stored and listed in `warnings`. A disabled agent may register." },
    { 0 },
};
/* clang-format on */
