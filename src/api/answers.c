/* answers.c - the tables of health, limits and errors. */

#include "shape/table.h"

static const char *const health_states[] = { "ok", "degraded", "unavailable", NULL };
static const char *const units[] = { "events", "bytes", NULL };

/* clang-format off */
SHAPE(health_answer, "Health", (.doc = "Service health."),
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

SHAPE(limits_answer, "Limits", (.doc = "Limits that apply to this key.",
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

SHAPE(error_answer, "Error", (.doc = "Any error except a validation error.",
      .example = EXAMPLE({"detail": "Not Found"})),
    STR(detail,    .flags = F_REQUIRED, .doc = "What is wrong and how to fix it."),
    OPT_INT(limit, .flags = F_OMIT, .doc = "The limit that was exceeded (413)."),
    STR(unit,      .flags = F_OMIT, .choices = units, .doc = "Unit of the limit (413)."));
/* clang-format on */
