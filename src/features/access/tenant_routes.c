/* tenant_routes.c - tenants, for platform admins; and a tenant's plan, for its users. */
#include "api/call.h"
#include "features/access/registry.h"
#include "features/access/routes.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"

/* The plan after the change. */
static void note_plan(struct api_call *call, const struct tenant *tenant)
{
    call->audit_target = tenant->slug;
    call->audit_detail = arena_printf(
        call->arena, "{\"max_agents\":%lld,\"rate_limit\":%lld,\"max_bytes\":%lld}",
        (long long)tenant->max_agents, (long long)tenant->rate_limit, (long long)tenant->max_bytes);
}

static int add_tenant(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_create *create = call->body;

    if (tenants_add(db, create, call->answer, err) != 0)
        return -1;
    note_plan(call, call->answer);
    return 0;
}

static int set_tenant(struct api_call *call, struct db *db, struct error *err)
{
    if (tenants_set(db, call->tenant->slug, call->body, call->arena, call->answer, err) != 0)
        return -1;
    note_plan(call, call->answer);
    return 0;
}

static int delete_tenant(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_confirm *confirm = call->body;
    struct tenant_deleted *answer = call->answer;

    if (!str_eq(confirm->confirm, call->tenant->slug))
        return call_refuse_body(call, err, "confirm", confirm->confirm,
                                "Value must repeat the slug of the workspace");
    call->audit_target = answer->slug = call->tenant->slug;
    call->audit_platform = true; /* the tenant's own log is erased with it */
    return tenants_delete(db, call->tenant->id, err);
}

static int read_tenant(struct api_call *call, struct db *db, struct error *err)
{
    return tenants_get(db, call->tenant->slug, call->arena, call->answer, err);
}

static int list_tenants(struct api_call *call, struct db *db, struct error *err)
{
    return tenants_list(db, call->query, call->arena, call->answer, err);
}

/* clang-format off */
const struct route tenant_routes[] = {
    { ROUTE(GET, "/api/v1/tenants", PLATFORM, 200), .read = list_tenants, .query = &tenants_query_shape, .answer = &tenant_list_shape,
      .id = "list_tenants", .summary = "List all workspaces",
      .description = "With their plans, by slug. Pass `next` as `cursor` to read on." },
    { ROUTE(POST, "/api/v1/tenants", PLATFORM, 201), .change = add_tenant, .body = &tenant_create_shape, .answer = &tenant_shape, .audit = "tenant.add",
      .id = "create_tenant", .summary = "Create a workspace",
      .description = "The slug names it in paths and in `client_id`, and cannot be changed." },
    { ROUTE(GET, "/api/v1/tenants/{slug}", READ, 200), .read = read_tenant, .params = &tenant_path_shape, .answer = &tenant_plan_shape,
      .id = "get_tenant", .summary = "Get a workspace and its plan",
      .description = "Name, limits of the plan, and how many agents there are." },
    { ROUTE(PATCH, "/api/v1/tenants/{slug}", PLATFORM, 200), .change = set_tenant, .params = &tenant_path_shape, .body = &tenant_patch_shape, .answer = &tenant_shape, .audit = "tenant.set",
      .id = "update_tenant", .summary = "Change a workspace's name or plan",
      .description = "Members that are left out stay as they are." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}", PLATFORM, 200), .change = delete_tenant, .params = &tenant_path_shape, .body = &tenant_confirm_shape, .answer = &tenant_deleted_shape, .audit = "tenant.delete",
      .id = "delete_tenant", .summary = "Delete a workspace and all of its data",
      .description = "`confirm` repeats the slug. Its keys and users are refused at once; its data is then erased in small steps and cannot be restored. The platform's audit log keeps one entry." },
    { 0 },
};
/* clang-format on */
