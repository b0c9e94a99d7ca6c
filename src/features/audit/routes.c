/* routes.c - the audit log of a tenant, and of the platform. */
#include "api/call.h"
#include "api/handlers.h"
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

void get_audit(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct audit_page);
    call_read(call, read_page);
}

static int verify(struct api_call *call, struct db *db, struct error *err)
{
    return audit_verify(db, chain_of(call), call->answer, err);
}

void get_audit_verify(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct audit_verdict);
    call_read(call, verify);
}
