/* routes.c - the audit log of a tenant, and of the platform. */
#include "features/audit/routes.h"
#include "api/call.h"
#include "api/queries.h"
#include "features/access/registry.h"
#include "features/audit/audit.h"
#include "features/audit/entries.h"
#include "features/audit/shapes.h"

/* The chain that the path names. */
static int64_t chain_of(const struct api_call *call)
{
    return call->tenant == NULL ? AUDIT_PLATFORM : call->tenant->id;
}

static int read_page(struct api_call *call, struct db *db, struct error *err)
{
    return audit_list(db, chain_of(call), call->query, call->arena, call->answer, err);
}

static void get_audit(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct audit_page);
    call_read(call, read_page);
}

static int verify(struct api_call *call, struct db *db, struct error *err)
{
    return audit_verify(db, chain_of(call), call->answer, err);
}

static void get_audit_verify(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct audit_verdict);
    call_read(call, verify);
}

/* clang-format off */
const struct route audit_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit", ADMIN, 200), .handler = get_audit, .params = &tenant_path_shape, .query = &audit_query_shape, .answer = &audit_page_shape,
      .summary = "Audit log of a tenant, newest first" },
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit/verify", ADMIN, 200), .handler = get_audit_verify, .params = &tenant_path_shape, .answer = &audit_verdict_shape,
      .summary = "Is the audit log of a tenant as it was written" },
    { ROUTE(GET, "/api/v1/platform/audit", PLATFORM, 200), .handler = get_audit, .query = &audit_query_shape, .answer = &audit_page_shape,
      .summary = "Audit log of the platform, newest first" },
    { ROUTE(GET, "/api/v1/platform/audit/verify", PLATFORM, 200), .handler = get_audit_verify, .answer = &audit_verdict_shape,
      .summary = "Is the audit log of the platform as it was written" },
    { 0 },
};
/* clang-format on */
