/* routes.c - how long a tenant's data is kept. */
#include "features/retention/retention.h"

#include "api/call.h"
#include "api/handlers.h"
#include "features/access/registry.h"

static int show(struct api_call *call, struct db *db, struct error *err)
{
    return retention_show(db, call->tenant->id, call->answer, err);
}

void get_retention(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct retention_limits);
    call_read(call, show);
}

static int set(struct api_call *call, struct db *db, struct error *err)
{
    const struct retention_limits *limits = call->body;
    struct buf detail;

    buf_init(&detail, KIB(1));
    shape_write_json(&retention_shape, limits, &detail);
    call->audit_detail = arena_copy(call->arena, buf_str(&detail));
    buf_done(&detail);
    if (retention_set(db, call->tenant->id, limits, err) != 0)
        return -1;
    return show(call, db, err);
}

void set_retention(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct retention_limits);
    call_change(call, set);
}
