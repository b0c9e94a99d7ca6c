/* keys.c - keys of a tenant, for operators; and their rotation, for themselves. */
#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "contract/admin.h"
#include "contract/agent.h"
#include "contract/queries.h"
#include "service/admin.h"
#include "service/engine.h"
#include "service/registry.h"
#include "service/rotation.h"

static int add_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_created *made = call->answer;

    if (admin_add_key(db, call->tenant->id, call->body, call->arena, call->answer, err) != 0)
        return -1;
    call->audit_target = made->key_id;
    return 0;
}

void post_key(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct key_created);
    call_change(call, add_key);
}

static int list_keys(struct api_call *call, struct db *db, struct error *err)
{
    return admin_list_keys(db, engine_registry(call->api->engine), call->tenant->id, call->arena,
                           call->answer, err);
}

void get_keys(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct key_list);
    call_read(call, list_keys);
}

static int revoke_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_path *path = call->params;

    call->audit_target = path->key_id;
    if (admin_revoke_key(db, call->tenant->id, path->key_id, err) != 0)
        return -1;
    return list_keys(call, db, err);
}

void delete_key(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct key_list);
    call_change(call, revoke_key);
}

static int rotate_key(struct api_call *call, struct db *db, struct error *err)
{
    call->audit_target = call->key->key_id;
    return rotation_apply(db, call->key, call->arena, call->answer, &call->audit_detail, err);
}

void post_refresh_key(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct key_refreshed);
    call_change(call, rotate_key);
}
