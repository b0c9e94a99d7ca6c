/* routes.c - the audit log of a tenant, and of the platform. */
#include "features/audit/routes.h"
#include "api/call.h"
#include "features/access/shapes.h"
#include "features/audit/audit.h"
#include "features/audit/entries.h"
#include "features/audit/shapes.h"

/* The chain that the path names. */
static int64_t chain_of(const struct api_call *call)
{
    return call->tenant == NULL ? AUDIT_PLATFORM : call->tenant_id;
}

static int list_audit(struct api_call *call, struct db *db, struct error *err)
{
    return audit_list(db, chain_of(call), call->query, call->arena, call->answer, err);
}

static int verify_audit(struct api_call *call, struct db *db, struct error *err)
{
    return audit_verify(db, chain_of(call), call->answer, err);
}

/* clang-format off */
const struct route audit_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit", ADMIN, 200), .read = list_audit, .params = &tenant_path_shape, .query = &audit_query_shape, .answer = &audit_page_shape,
      .id = "list_tenant_audit", .summary = "List a workspace's audit log, newest first",
      .description = "Every administrative change and every time that secrets were handed out. A filtered page may be short: only a null `next` is the end." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit/verify", ADMIN, 200), .read = verify_audit, .params = &tenant_path_shape, .answer = &audit_verdict_shape,
      .id = "verify_tenant_audit", .summary = "Verify a workspace's audit log",
      .description = "Recomputes the chain of hashes and names the first entry that was changed, removed or inserted." },
    { ROUTE(GET, "/api/v1/platform/audit", PLATFORM, 200), .read = list_audit, .query = &audit_query_shape, .answer = &audit_page_shape,
      .id = "list_platform_audit", .summary = "List the platform's audit log, newest first",
      .description = "Every administrative change and every time that secrets were handed out. A filtered page may be short: only a null `next` is the end." },
    { ROUTE(GET, "/api/v1/platform/audit/verify", PLATFORM, 200), .read = verify_audit, .answer = &audit_verdict_shape,
      .id = "verify_platform_audit", .summary = "Verify the platform's audit log",
      .description = "Recomputes the chain of hashes and names the first entry that was changed, removed or inserted." },
    { 0 },
};
/* clang-format on */
