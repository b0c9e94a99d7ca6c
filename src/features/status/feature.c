/* feature.c - health, limits and the OpenAPI document. */
#include "engine/feature.h"
#include "db/servers.h"

#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "engine/writer.h"
#include "features/access/auth.h"
#include "features/access/rate.h"
#include "features/access/registry.h"
#include "features/features.h"
#include "features/status/metrics_routes.h"
#include "shape/rows.h"
#include "shape/table.h"

struct health_answer {
    struct str status;   /* ok, degraded, unavailable */
    struct str reason;   /* left out when ok */
    struct list tenants; /* of struct str: the slugs of those that cannot report; degraded only */
};

/* What the callers of a key and of its tenant hold of one kind, and may hold; null: any number. */
struct budget_answer {
    struct str kind;
    int64_t tenant_used, key_used;
    struct opt_int tenant_max, key_max;
};

struct limits_answer {
    int64_t batch_max_events, batch_max_bytes, body_max_bytes, business_max_bytes;
    int64_t rate_limit, rate_window_seconds;
    int64_t max_agents, max_bytes, stored_bytes;
    struct list budgets; /* of struct budget_answer, one per kind */
};

static const char *const health_states[] = { "ok", "degraded", "unavailable", NULL };

/* clang-format off */
STATIC_SHAPE(health_answer, "Health", (.doc = "Service health."),
    STR(status, .flags = F_REQUIRED, .choices = health_states, .doc = "ok: a report could be stored now. degraded: of some tenants only."),
    STR(reason, .flags = F_OMIT, .doc = "Why a report could not be stored now (503), or those of some tenants (200)."),
    LIST_STR(tenants, .flags = F_OMIT, .doc = "degraded, for requests with the metrics token: the tenants whose reports could not be stored now, by slug."));

STATIC_SHAPE(budget_answer, "Budget", (.doc = "A share of what this service can hold at once.",
      .example = EXAMPLE({"kind": "body_bytes", "tenant_used": 0, "tenant_max": 67108864, "key_used": 0, "key_max": 33554432})),
    STR(kind,           .flags = F_REQUIRED, .doc = "What is counted, such as `body_bytes`, `reply_bytes` or `streams`."),
    INT(tenant_used,    .flags = F_REQUIRED, .doc = "Held now by all callers of the tenant."),
    OPT_INT(tenant_max, .flags = F_REQUIRED | F_NULL, .doc = "What they may hold together; null: no limit."),
    INT(key_used,       .flags = F_REQUIRED, .doc = "Held now by the callers of this key."),
    OPT_INT(key_max,    .flags = F_REQUIRED | F_NULL, .doc = "What they may hold together; null: no limit."));

STATIC_SHAPE(limits_answer, "Limits", (.doc = "Limits that apply to this key.",
      .example = EXAMPLE({"batch_max_events": 1000, "batch_max_bytes": 8388608, "body_max_bytes": 1048576, "business_max_bytes": 4194304, "rate_limit": 600, "rate_window_seconds": 60, "max_bytes": 5000000000, "stored_bytes": 1288490188, "max_agents": 100})),
    INT(batch_max_events,    .flags = F_REQUIRED, .doc = "Maximum events per batch."),
    INT(batch_max_bytes,     .flags = F_REQUIRED, .doc = "Maximum size of a batch request body in bytes."),
    INT(body_max_bytes,      .flags = F_REQUIRED, .doc = "Maximum size of any other request body in bytes."),
    INT(business_max_bytes,  .flags = F_REQUIRED, .doc = "Maximum size of a business report body in bytes."),
    INT(rate_limit,          .flags = F_REQUIRED, .doc = "Requests per key per window."),
    INT(rate_window_seconds, .flags = F_REQUIRED, .doc = "Length of the rate-limit window."),
    INT(max_agents,          .flags = F_REQUIRED, .doc = "Maximum number of agents in the tenant."),
    INT(max_bytes,           .flags = F_REQUIRED, .doc = "Bytes that the tenant's stored reports may take; at this the answer to a report is 507. 0: no quota."),
    INT(stored_bytes,        .flags = F_REQUIRED, .doc = "Bytes that they take."),
    LIST(budgets, budget_answer_shape, .flags = F_REQUIRED, .doc = "What this key and its tenant hold now and may hold at once, by kind. Beyond it the answer is 503 with `Retry-After`."));
/* clang-format on */

/* The tenants of the registry, in the order of their slugs. */
struct slug {
    int64_t tenant_id;
    struct str text;
};

static void add_tenant(void *ctx, const struct tenant_entry *tenant)
{
    *(struct slug *)rows_add(ctx) = (struct slug){ tenant->id, tenant->slug };
}

static int by_slug(const void *a, const void *b)
{
    const struct slug *x = a, *y = b;

    return str_cmp(x->text, y->text);
}

/* Those whose server does not answer. The registry's lock and that of the servers are taken one
 * after the other. */
static struct list list_away(const struct api_call *call)
{
    struct registry *registry = access_registry(call->api->engine);
    const struct db *db = engine_watch_db(call->api->engine);
    struct rows rows = { .arena = call->arena, .size = sizeof(struct slug) };
    const struct slug *slugs;
    struct str *away;
    size_t n = 0;

    registry_each_tenant(registry, add_tenant, &rows);
    slugs = rows.items;
    away = ARENA_ARRAY(call->arena, struct str, rows.n);
    qsort(rows.items, rows.n, rows.size, by_slug);
    for (size_t i = 0; i < rows.n; i++) {
        const int64_t place = db_place_of(db, slugs[i].tenant_id);

        if (place != 0 && db_is_away(db, place))
            away[n++] = slugs[i].text;
    }
    return (struct list){ away, n };
}

static int show_health(struct api_call *call, struct error *err)
{
    const char *problem = engine_problem(call->api->engine);
    struct health_answer *answer = call->answer;
    BUF_SCOPED(text, KIB(1));

    (void)err;
    answer->status = problem == NULL ? STR_LIT("ok") : STR_LIT("unavailable");
    answer->reason = str_of(problem);
    if (problem == NULL && db_any_is_away(engine_watch_db(call->api->engine))) {
        answer->status = STR_LIT("degraded");
        answer->reason = STR_LIT(
            "A server of the database does not answer or commits nothing: the tenants on it "
            "are refused");
        if (metrics_may_read(call)) /* the names of tenants are not for strangers */
            answer->tenants = list_away(call);
    }
    if (problem == NULL) {
        call_reply(call, NULL);
        return 0;
    }
    shape_write_json(&health_answer_shape, answer, &text);
    call_reply_json(call, 503, arena_copy(call->arena, buf_str(&text)));
    return 0;
}

/* The process runs and answers; the database is not asked. */
static int show_liveness(struct api_call *call, struct error *err)
{
    struct health_answer *answer = call->answer;

    (void)err;
    answer->status = STR_LIT("ok");
    call_reply(call, NULL);
    return 0;
}

static struct opt_int max_of(const struct budget *b, enum budget_kind kind)
{
    int64_t max = b->level->max[kind];

    return (struct opt_int){ max != 0, max < 0 ? 0 : max };
}

static struct list list_budgets(const struct key_entry *key, struct arena *arena)
{
    const struct budget *of_key = key_budget(key), *of_tenant = tenant_budget(key->tenant);
    struct budget_answer *rows = ARENA_ARRAY(arena, struct budget_answer, BUDGET_KINDS);

    for (unsigned kind = 0; kind < BUDGET_KINDS; kind++)
        rows[kind] = (struct budget_answer){ .kind = str_of(budget_kind_name(kind)),
                                             .tenant_used = budget_used(of_tenant, kind),
                                             .tenant_max = max_of(of_tenant, kind),
                                             .key_used = budget_used(of_key, kind),
                                             .key_max = max_of(of_key, kind) };
    return (struct list){ rows, BUDGET_KINDS };
}

static int show_limits(struct api_call *call, struct error *err)
{
    const struct api_limits *limits = &call->api->limits;
    const struct tenant_entry *tenant = call->caller->key->tenant;
    struct limits_answer *answer = call->answer;

    (void)err;
    *answer = (struct limits_answer){
        .batch_max_events = (int64_t)limits->batch_max_events,
        .batch_max_bytes = (int64_t)limits->batch_max_bytes,
        .body_max_bytes = (int64_t)limits->body_max_bytes,
        .business_max_bytes = (int64_t)limits->business_max_bytes,
        .rate_limit = atomic_load(&tenant->rate_limit),
        .rate_window_seconds = RATE_WINDOW_S,
        .max_agents = atomic_load(&tenant->max_agents),
        .max_bytes = atomic_load(&tenant->max_bytes),
        .stored_bytes = atomic_load(&tenant->stored_bytes),
        .budgets = list_budgets(call->caller->key, call->arena),
    };
    call_reply(call, NULL);
    return 0;
}

static int send_openapi(struct api_call *call, struct error *err)
{
    (void)err;
    call_reply_json(call, 200, openapi_text(&call->api->openapi, &call->api->routes));
    return 0;
}

/* clang-format off */
static const struct route health_routes[] = {
    { ROUTE(GET, "/api/v1/health", OPEN, 200), .handler = show_health, .unavailable = &health_answer_shape, .answer = &health_answer_shape,
      .id = "get_health", .summary = "Check that reports can be stored",
      .description = "Answers 503 with status `unavailable` and a `reason` while a report could not be stored: the database does not answer, the writer has lost it, reports have waited for 5 seconds, no commit has succeeded for 5 seconds, or disk space is low. Where tenants are distributed over several servers and some of them, but not all, do not answer or commit nothing, it is 200 with status `degraded`; `tenants` then lists the tenants on them, for requests with the metrics token (`Authorization: Bearer`)." },
    { ROUTE(GET, "/livez", OPEN, 200), .handler = show_liveness, .answer = &health_answer_shape,
      .id = "get_liveness", .summary = "Check that the process runs",
      .description = "Answers 200 while the process runs, whatever the state of the database. For supervisors that restart what does not answer." },
    { ROUTE(GET, "/openapi.json", OPEN, 200), .handler = send_openapi, .sample = "{\"openapi\":\"3.1.0\"}",
      .id = "get_openapi", .summary = "Get this document",
      .description = "The OpenAPI 3.1 description of every operation, generated from the tables that the service itself reads." },
    { ROUTE(GET, "/api/v1/openapi.json", OPEN, 200), .handler = send_openapi, .sample = "{\"openapi\":\"3.1.0\"}",
      .id = "get_openapi_v1", .summary = "Get this document",
      .description = "The same document as `/openapi.json`." },
    { ROUTE(GET, "/api/v1/limits", ANY_KEY, 200), .handler = show_limits, .answer = &limits_answer_shape,
      .id = "get_limits", .summary = "Get the limits of this key",
      .description = "Sizes of batches and bodies, the rate limit of the key and the number of agents in the plan, and what the key and its tenant hold at once. Beyond a size limit the answer is 413, beyond the rate limit 429, beyond a share 503, beyond the quota of the plan 507." },
    { 0 },
};
/* clang-format on */

const struct feature status_feature = {
    .name = "status",
    .about = "Health, limits and this document.",
    .routes = { health_routes, metrics_routes },
};
