/* tenant_routes.c - tenants, for operators; and a tenant's plan, for those who are of it. */
#include "api/call.h"
#include "api/handlers.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"

/* The plan, as it is then. */
static void tell_plan(struct api_call *call, const struct tenant *tenant)
{
    call->audit_target = tenant->slug;
    call->audit_detail = arena_printf(call->arena, "{\"max_agents\":%lld,\"rate_limit\":%lld}",
                                      (long long)tenant->max_agents, (long long)tenant->rate_limit);
}

static int add_tenant(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_create *create = call->body;

    if (admin_add_tenant(db, create, call->answer, err) != 0)
        return -1;
    tell_plan(call, call->answer);
    return 0;
}

void post_tenant(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct tenant);
    call_change(call, add_tenant);
}

static int set_tenant(struct api_call *call, struct db *db, struct error *err)
{
    if (admin_set_tenant(db, call->tenant->slug, call->body, call->arena, call->answer, err) != 0)
        return -1;
    tell_plan(call, call->answer);
    return 0;
}

void patch_tenant(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct tenant);
    call_change(call, set_tenant);
}

static int read_tenant(struct api_call *call, struct db *db, struct error *err)
{
    return admin_tenant(db, call->tenant->slug, call->arena, call->answer, err);
}

void get_tenant(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct tenant_plan);
    call_read(call, read_tenant);
}

static int list_tenants(struct api_call *call, struct db *db, struct error *err)
{
    return admin_list_tenants(db, call->arena, call->answer, err);
}

void get_tenants(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct tenant_list);
    call_read(call, list_tenants);
}
