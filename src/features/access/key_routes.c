/* key_routes.c - keys of a tenant, for admins; and their rotation, for themselves too. */
#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "engine/engine.h"
#include "features/access/key_rotation.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"
#include "shape/problems.h"

/* Which key it is, without its token. */
static struct str detail_of(const struct key_created *made, struct arena *arena)
{
    const bool bound = !str_is_null(made->agent_name), ends = made->expires_at != TIME_NULL;
    char at[DATETIME_TEXT_MAX];
    struct str detail;
    struct buf text;

    buf_init(&text, SIZE_MAX); /* in proportion to a request, which was bounded */
    buf_printf(&text, "{\"kind\":\"%.*s\"", STR_ARG(made->kind));
    if (bound) {
        buf_add_c(&text, ",\"agent_name\":");
        buf_add_json(&text, made->agent_name);
    }
    if (ends)
        buf_printf(&text, ",\"expires_at\":\"%s\"", datetime_format(made->expires_at, at).data);
    buf_add_char(&text, '}');
    detail = arena_copy(arena, buf_str(&text));
    buf_done(&text);
    return detail;
}

static int add_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_created *made = call->answer;

    if (admin_add_key(db, call->tenant->id, call->body, call->arena, call->answer, err) != 0)
        return -1;
    call->audit_target = made->key_id;
    call->audit_detail = detail_of(made, call->arena);
    return 0;
}

/* A key that could never be used is a mistake that shows too late. False when it has answered. */
static bool check_key(struct api_call *call)
{
    const struct key_create *create = call->body;
    const char *name = "agent_name", *sentence = NULL;
    struct problem_step step;
    struct problems *problems;

    if (!str_is_null(create->agent_name) && create->agent_name.len == 0)
        sentence = "A key is bound to an agent with a name; null makes a workspace key";
    else if (create->expires_at != TIME_NULL && create->expires_at <= clock_wall_us())
        name = "expires_at", sentence = "This moment is over: the key could never be used";
    if (sentence == NULL)
        return true;
    step = (struct problem_step){ .name = str_of(name) };
    problems = problems_new(call->arena, "body");
    problems_add_rule(problems, &step, 1, STR_NULL, sentence);
    call_reply_problems(call, problems);
    return false;
}

void post_key(struct api_call *call)
{
    if (!check_key(call))
        return;
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

static int rotate(struct api_call *call, struct db *db, struct str key_id, struct error *err)
{
    const struct key_name key = { call->tenant->id, key_id };

    call->audit_target = key_id;
    return rotation_apply(db, &key, call->arena, call->answer, &call->audit_detail, err);
}

static int rotate_own_key(struct api_call *call, struct db *db, struct error *err)
{
    return rotate(call, db, call->key->key_id, err);
}

void post_refresh_key(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct key_refreshed);
    call_change(call, rotate_own_key);
}

static int rotate_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_path *path = call->params;

    if (rotate(call, db, path->key_id, err) == 0)
        return 0;
    if (err->code == ERR_UNAUTHORIZED) /* the key is, not who asks */
        return err_set(err, ERR_CONFLICT, "The key is over: it was revoked, expired or replaced");
    return -1;
}

void post_key_rotate(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct key_refreshed);
    call_change(call, rotate_key);
}
