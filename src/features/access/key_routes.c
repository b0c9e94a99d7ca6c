/* key_routes.c - keys of a tenant, for its admins; and rotation, for keys themselves too. */
#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/key_rotation.h"
#include "features/access/keys_store.h"
#include "features/access/registry.h"
#include "features/access/routes.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"

/* The key for the audit log, without its token. */
static struct str detail_of(const struct key_created *made, struct arena *arena)
{
    const bool bound = !str_is_null(made->agent_name), ends = made->expires_at != TIME_NULL;
    char at[DATETIME_TEXT_MAX];
    BUF_SCOPED(text, SIZE_MAX); /* bounded by the size of the request */

    buf_printf(&text, "{\"kind\":\"%.*s\"", STR_ARG(made->kind));
    if (bound) {
        buf_add_c(&text, ",\"agent_name\":");
        buf_add_json(&text, made->agent_name);
    }
    if (ends)
        buf_printf(&text, ",\"expires_at\":\"%s\"", datetime_format(made->expires_at, at).data);
    buf_add_char(&text, '}');
    return buf_take(&text, arena);
}

static int add_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_created *made = call->answer;

    if (keys_add(db, call->tenant_id, call->body, call->arena, call->answer, err) != 0)
        return -1;
    call->audit_target = made->key_id;
    call->audit_detail = detail_of(made, call->arena);
    return 0;
}

/* Refuses a key that could never be used. */
static int check_key(struct api_call *call, struct error *err)
{
    const struct key_create *create = call->body;

    if (!str_is_null(create->agent_name) && create->agent_name.len == 0)
        return call_refuse_body(call, err, "agent_name", STR_NULL,
                                "Agent name must not be empty; null creates a workspace key");
    if (create->read_only && !str_is_null(create->agent_name))
        return call_refuse_body(call, err, "read_only", STR_NULL,
                                "A read-only key cannot be bound to an agent");
    if (create->expires_at != TIME_NULL && create->expires_at <= clock_wall_us())
        return call_refuse_body(call, err, "expires_at", STR_NULL,
                                "The expiry is in the past: the key could never be used");
    return call_proceed(call, err);
}

static int list_keys(struct api_call *call, struct db *db, struct error *err)
{
    const struct keys_query *query = call->query;
    const struct keys_page page = { call->tenant_id, query->cursor, query->limit };

    if (keys_list(db, access_registry(call->api->engine), &page, call->arena, call->answer, err) ==
        0)
        return 0;
    if (err->code == ERR_NOT_FOUND)
        return call_refuse_query(call, err, "cursor", query->cursor,
                                 "Is not the `next` of an earlier page");
    return -1;
}

/* {"revoked":["key_…"],"only":true}; ids need no escapes. */
static struct str revocation_detail(const struct keys_revoked *answer, bool only,
                                    struct arena *arena)
{
    const struct str *ids = answer->revoked.items;
    BUF_SCOPED(text, SIZE_MAX); /* bounded by the rotations of a line */

    buf_add_c(&text, "{\"revoked\":[");
    for (size_t i = 0; i < answer->revoked.n; i++)
        buf_printf(&text, "%s\"%.*s\"", i > 0 ? "," : "", STR_ARG(ids[i]));
    buf_add_c(&text, only ? "],\"only\":true}" : "]}");
    return buf_take(&text, arena);
}

static int revoke_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_path *path = call->params;
    const struct revoke_query *query = call->query;
    const struct key_name key = { call->tenant_id, path->key_id };

    call->audit_target = path->key_id;
    if (keys_revoke(db, &key, query->only, call->arena, call->answer, err) != 0)
        return -1;
    call->audit_detail = revocation_detail(call->answer, query->only, call->arena);
    return 0;
}

static int rotate(struct api_call *call, struct db *db, struct str key_id, struct error *err)
{
    const struct key_name key = { call->tenant_id, key_id };
    const struct settings *settings = engine_settings(call->api->engine);
    struct rotation rotation = { .per_hour_max = settings->key_rotations_per_hour,
                                 .answer = call->answer };

    call->audit_target = key_id;
    if (rotation_apply(db, &key, call->arena, &rotation, err) == 0) {
        call->audit_detail = rotation.detail;
        return 0;
    }
    if (rotation.wait_s == 0)
        return -1;
    call->rate.reset_s = rotation.wait_s;
    return call_refuse(call, err, 429,
                       "The key was rotated too often: at most %lld rotations in an hour for a "
                       "key and its successors",
                       (long long)rotation.per_hour_max);
}

static int rotate_own_key(struct api_call *call, struct db *db, struct error *err)
{
    return rotate(call, db, call->key->key_id, err);
}

static int rotate_key(struct api_call *call, struct db *db, struct error *err)
{
    const struct key_path *path = call->params;

    if (rotate(call, db, path->key_id, err) == 0)
        return 0;
    if (err->code == ERR_UNAUTHORIZED) /* the key in the path is invalid, not the caller's */
        return err_set(err, ERR_CONFLICT, "The key was revoked, has expired or was replaced");
    return -1;
}

/* clang-format off */
const struct route key_routes[] = {
    { ROUTE(POST, "/api/v1/agents/refresh-key", ANY_KEY, 200), .change = rotate_own_key, .answer = &key_refreshed_shape, .audit = "key.rotate",
      .id = "rotate_own_key", .summary = "Rotate the key that makes this request",
      .description = "Answers a new token for the same workspace and agent. The old key stays valid for five minutes after its first rotation. If the answer was lost, rotate again with the old key. At most ten rotations per hour for a key and its successors: then 429." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/keys", ADMIN, 200), .read = list_keys, .params = &tenant_path_shape, .query = &keys_query_shape, .answer = &key_list_shape,
      .id = "list_keys", .summary = "List a workspace's keys",
      .description = "Ids, labels, agents, expiry and last use, oldest first. Tokens are not stored and cannot be shown again. Pass `next` as `cursor` to read on." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/keys", ADMIN, 201), .handler = check_key, .change = add_key, .params = &tenant_path_shape, .body = &key_create_shape, .answer = &key_created_shape, .audit = "key.add",
      .id = "create_key", .summary = "Create a key",
      .description = "The answer holds the token, which is shown only this once. With `agent_name` the key is bound to that agent; without it, it is a workspace key. With `read_only` it reads what a workspace key reads and reports nothing." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/keys/{key_id}", ADMIN, 200), .change = revoke_key, .params = &key_path_shape, .query = &revoke_query_shape, .answer = &keys_revoked_shape, .audit = "key.revoke",
      .id = "revoke_key", .summary = "Revoke a key",
      .description = "In effect at once, and ends its live streams and exports. Also revokes all keys that were made from it by rotation, unless `only` is true. The answer names the keys that were revoked." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/keys/{key_id}/rotate", ADMIN, 200), .change = rotate_key, .params = &key_path_shape, .answer = &key_refreshed_shape, .audit = "key.rotate",
      .id = "rotate_key", .summary = "Rotate a key",
      .description = "Answers a new token; the old key stays valid for five minutes after its first rotation. 409 when the key has expired or was revoked. At most ten rotations per hour for a key and its successors: then 429." },
    { 0 },
};
/* clang-format on */
