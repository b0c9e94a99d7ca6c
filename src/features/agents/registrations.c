/* registrations.c - the writer job of a registration. */
#include "features/agents/registrations.h"

#include "engine/job_cost.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/agents/admit.h"
#include "features/agents/config/secret_key_names.h"
#include "features/agents/shapes.h"
#include "features/agents/store.h"

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
    if (store_agent_find(txn->db, agent.tenant_id, agent.agent_name, ret, err) != 0)
        return -1;
    request->is_new = ret->agent_id == 0;
    if (ret->agent_id != 0)
        return 0;
    return store_agent_add(txn->db, agent.tenant_id, agent.agent_name, agent.at, ret, err);
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
    if (store_registration_put(txn->db, &key, &request->rows, err) != 0)
        return -1;
    if (str_is_null(request->catalog))
        return 0;
    if (store_catalog_is_full(txn->db, key.tenant_id, &request->catalog_full, err) != 0)
        return -1;
    if (request->catalog_full)
        return 0;
    return store_catalog_enter(txn->db, key.tenant_id, request->catalog, key.received_at, err);
}

static void registration_committed(struct writer_job *job)
{
    struct registration_request *request = CONTAINER_OF(job, struct registration_request, job);

    if (job->txn->admit != NULL && request->is_other)
        admit_interval_changed(job->txn->admit);
}

static struct str catalog_of(const struct list *list, struct arena *arena)
{
    const struct config_param_decl *params = list->items;
    struct catalog_parameter *entries = ARENA_ARRAY(arena, struct catalog_parameter, list->n);

    for (size_t i = 0; i < list->n; i++)
        entries[i] = secret_key_names_first_entry(params[i].key);
    return store_catalog_prepare(entries, list->n, arena);
}

void registrations_prepare(struct registration_request *request)
{
    const struct agent_register *body = request->body;
    size_t params = body->config_schema == NULL ? 0 : body->config_schema->params.n;

    store_registration_prepare(body, request->arena, &request->rows);
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
