/* tenants.c - tenants, for operators. */
#include "api/call.h"
#include "api/handlers.h"
#include "contract/admin.h"
#include "service/admin.h"
#include "service/registry.h"

static int add_tenant(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_create *create = call->body;

    call->audit_target = create->slug;
    return admin_add_tenant(db, create, call->answer, err);
}

void post_tenant(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct tenant);
    call_change(call, add_tenant);
}

static int set_tenant(struct api_call *call, struct db *db, struct error *err)
{
    return admin_set_tenant(db, call->tenant->slug, call->body, call->arena, call->answer, err);
}

void patch_tenant(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct tenant);
    call_change(call, set_tenant);
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
