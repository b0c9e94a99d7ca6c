/* registrations.c - registration of agents: the route and its writer job, which stores it in one
 * transaction, together with other requests. It never changes whether the agent is enabled, its
 * directives, or existing entries of the security catalog.
 */
#include "features/agents/registrations_store.h"

#include "api/call.h"
#include "base/clock.h"
#include "engine/job.h"
#include "engine/txn.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/admit.h"
#include "features/agents/agents_store.h"
#include "features/agents/config/params.h"
#include "features/agents/config/store.h"
#include "features/agents/report.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "http/exchange.h"

/* call->own. */
struct registration_request {
    struct writer_job job;
    struct registration_rows rows; /* the body as it is stored */
    struct str catalog; /* catalog entries for the parameters, used for those that are new */
    const struct tenant_entry *tenant;
    const struct agent_register *body;
    struct arena *arena; /* the request's; belongs to the writer from submit until done() */
    size_t bytes;        /* size of the request, for the queue's limit */
    int64_t received_at; /* wall clock */

    enum verdict verdict; /* accepted, or agent cap */
    bool is_new;          /* the agent was unknown */
    bool is_other;        /* its interval has changed */
    bool catalog_full;    /* new parameters were not entered */
};

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

/* Fills in the job, `rows` and `catalog`. */
static void prepare(struct registration_request *request)
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

enum {
    WARNINGS_MAX = 100, /* listed one by one; a last warning counts the rest */
    QUOTE_MAX = 64,     /* bytes of a name in a warning: a name may be as long as the body */
};

struct warnings {
    struct arena *arena;
    struct str *items;
    size_t n, dropped;
};

static const char *const units[] = { "count", "percent", "duration" };
static const char *const aggregations[] = { "sum", "last", "avg", "max" };

static void warn(struct warnings *w, struct str text)
{
    if (w->n == WARNINGS_MAX)
        w->dropped++;
    else
        w->items[w->n++] = text;
}

/* The text, truncated. */
static struct str quote(struct str text, struct arena *arena)
{
    size_t len = QUOTE_MAX;

    if (text.len <= QUOTE_MAX)
        return text;
    while (((unsigned char)text.data[len] & 0xc0) == 0x80)
        len--; /* do not split a character */
    return arena_printf(arena, "%.*s…", (int)len, text.data);
}

static bool is_one_of(struct str word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq_c(word, words[i]))
            return true;
    return false;
}

/* Such as money:EUR. */
static bool is_money(struct str unit)
{
    static const struct str prefix = STR_INIT("money:");
    enum { CODE_LEN = 3 };

    if (!str_starts(unit, prefix) || unit.len != prefix.len + CODE_LEN)
        return false;
    for (size_t i = prefix.len; i < unit.len; i++)
        if (unit.data[i] < 'A' || unit.data[i] > 'Z')
            return false;
    return true;
}

/* The element with this key has a member whose value is none of `words`. */
static void warn_unknown_word(struct warnings *w, const char *about, struct str key,
                              struct str given, const char *words)
{
    const struct str quoted_key = quote(key, w->arena), quoted = quote(given, w->arena);

    warn(w, arena_printf(w->arena, "%s '%.*s': '%.*s' is none of %s", about, STR_ARG(quoted_key),
                         STR_ARG(quoted), words));
}

static void check_kpi(struct warnings *w, const struct business_kpi_decl *kpi)
{
    if (!is_one_of(kpi->unit, units, COUNT_OF(units)) && !is_money(kpi->unit))
        warn_unknown_word(w, "unit of KPI", kpi->key, kpi->unit,
                          "count, money:<ISO currency code>, percent, duration");
    if (!is_one_of(kpi->agg, aggregations, COUNT_OF(aggregations)))
        warn_unknown_word(w, "agg of KPI", kpi->key, kpi->agg,
                          "sum, last, avg, max; treated as last");
}

static void check_param(struct warnings *w, const struct config_param_decl *param,
                        struct arena *work)
{
    const struct str key = quote(param->key, w->arena);

    if (!config_type_is_known(param->value_type))
        warn_unknown_word(w, "value_type of parameter", param->key, param->value_type,
                          "string, integer, number, boolean, json, list; treated as string");
    if (param->default_value.len > 0 &&
        !config_type_fits(param->value_type, param->default_value, work))
        warn(w, arena_printf(w->arena,
                             "default of parameter '%.*s': not a valid %.*s; treated as null",
                             STR_ARG(key), STR_ARG(param->value_type)));
}

/* Words outside their vocabularies and defaults that do not fit their type, in the order of the
 * body; all are stored. A parameter that found no room in the catalog is treated by its name, but
 * cannot be classified. */
static struct list warnings_of(const struct agent_register *body, bool catalog_full,
                               struct arena *arena)
{
    const struct list params =
        body->config_schema == NULL ? (struct list){ 0 } : body->config_schema->params;
    const struct business_kpi_decl *kpis = body->business_kpis.items;
    struct warnings w = { .arena = arena,
                          .items = ARENA_ARRAY(arena, struct str, WARNINGS_MAX + 2) };
    ARENA_SCOPED(work);

    for (size_t i = 0; i < body->business_kpis.n; i++)
        check_kpi(&w, &kpis[i]);
    for (size_t i = 0; i < params.n; i++) {
        check_param(&w, (const struct config_param_decl *)params.items + i, &work);
        arena_reset(&work);
    }
    if (w.dropped > 0)
        w.items[w.n++] = arena_printf(arena, "and %zu more", w.dropped);
    if (catalog_full)
        w.items[w.n++] = arena_printf(
            arena, "the catalog has %d parameters or more: new ones were not added to it",
            CATALOG_MAX);
    return (struct list){ w.items, w.n };
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
        .warnings = warnings_of(body, request->catalog_full, call->arena),
    };
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
    prepare(request);
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
