/* registrations.c - registration of agents: the route and its writer job. */
#include "features/agents/registrations.h"

#include "api/call.h"
#include "base/clock.h"
#include "engine/job_cost.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/admit.h"
#include "features/agents/agents_store.h"
#include "features/agents/config/catalog_store.h"
#include "features/agents/report.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/agents/vocabulary.h"
#include "http/exchange.h"

static struct job_cost registration_cost = JOB_COST(5);

static struct applicant applicant_of(const struct registration_request *request)
{
    return (struct applicant){ request->tenant->id, request->body->agent_name,
                               request->received_at };
}

/* Not admit_agent(), which rejects a disabled agent: it may register. */
static int find_or_add(struct registration_request *request, struct txn *txn, struct agent_row *ret,
                       struct error *err)
{
    const struct applicant agent = applicant_of(request);

    request->is_new = true;
    if (admit_added(txn, &agent, ret))
        return 0;
    if (agents_find(txn->db, agent.tenant_id, agent.agent_name, ret, err) != 0)
        return -1;
    request->is_new = ret->agent_id == 0;
    if (ret->agent_id != 0)
        return 0;
    return agents_add(txn->db, agent.tenant_id, agent.agent_name, agent.at, ret, err);
}

static void registration_announce(struct writer_job *job, struct txn *txn)
{
    const struct applicant agent =
        applicant_of(CONTAINER_OF(job, struct registration_request, job));

    admit_expect(txn, &agent, false);
}

static bool is_same(const struct opt_int *a, const struct opt_int *b)
{
    return a->has == b->has && (!a->has || a->value == b->value);
}

static int registration_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct registration_request *request = CONTAINER_OF(job, struct registration_request, job);
    struct report_key key = { .tenant_id = request->tenant->id,
                              .received_at = request->received_at };
    struct agent_row agent;

    if (find_or_add(request, txn, &agent, err) != 0)
        return -1;
    request->verdict = agent.agent_id == 0 ? VERDICT_AGENT_CAP : VERDICT_ACCEPTED;
    if (agent.agent_id == 0)
        return 0;
    key.agent_id = agent.agent_id;
    request->is_other = !is_same(&agent.interval_seconds, &request->body->interval_seconds);
    if (registration_rows_put(txn->db, &key, &request->rows, err) != 0)
        return -1;
    if (str_is_null(request->catalog))
        return 0;
    if (catalog_is_full(txn->db, key.tenant_id, &request->catalog_full, err) != 0)
        return -1;
    if (request->catalog_full)
        return 0;
    return catalog_enter(txn->db, key.tenant_id, request->catalog, key.received_at, err);
}

static void registration_committed(struct writer_job *job)
{
    struct registration_request *request = CONTAINER_OF(job, struct registration_request, job);

    if (admit_of(job->txn) != NULL && request->is_other)
        admit_interval_changed(admit_of(job->txn));
}

static struct str catalog_of(const struct list *list, struct arena *arena)
{
    const struct config_param_decl *params = list->items;
    struct catalog_parameter *entries = ARENA_ARRAY(arena, struct catalog_parameter, list->n);

    for (size_t i = 0; i < list->n; i++)
        entries[i] = catalog_first_entry(params[i].key);
    return catalog_prepare(entries, list->n, arena);
}

void registrations_prepare(struct registration_request *request)
{
    const struct agent_register *body = request->body;
    size_t params = body->config_schema == NULL ? 0 : body->config_schema->params.n;

    registration_rows_prepare(body, request->arena, &request->rows);
    request->catalog =
        params == 0 ? STR_NULL : catalog_of(&body->config_schema->params, request->arena);
    request->job = (struct writer_job){
        .announce = registration_announce,
        .apply = registration_apply,
        .committed = registration_committed,
        .tenant_id = request->tenant->id,
        .agent_name = body->agent_name,
        .cost = &registration_cost,
        .events = 1 + body->business_kpis.n + params, /* rows it writes */
        .bytes = request->bytes,
    };
}

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
    *request = (struct registration_request){ .tenant = call->caller->key->tenant,
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
