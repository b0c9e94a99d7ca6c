/* routes.c - secrets of a tenant and the vault they are in, for administrators. */
#include "features/vault/secrets.h"

#include "api/api.h"
#include "api/call.h"
#include "api/queries.h"
#include "base/log.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/vault/routes.h"
#include "features/vault/shapes.h"
#include "features/vault/vault.h"

static struct secrets secrets_of(const struct api_call *call)
{
    return (struct secrets){ engine_vault(call->api->engine), call->tenant->id };
}

static int list(struct api_call *call, struct db *db, struct error *err)
{
    const struct secrets secrets = secrets_of(call);

    return secrets_list(&secrets, db, call->arena, call->answer, err);
}

static void get_secrets(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct secret_list);
    call_read(call, list);
}

static int set(struct api_call *call, struct db *db, struct error *err)
{
    const struct secret_path *path = call->params;
    const struct secrets secrets = secrets_of(call);
    struct secret *answer = call->answer;

    if (secrets_set(&secrets, db, path->name, call->body, answer, err) != 0)
        return -1;
    call->audit_target = path->name;
    call->audit_detail =
        arena_printf(call->arena, "{\"version\":%lld,\"shared\":%s}", (long long)answer->version,
                     answer->shared ? "true" : "false");
    return 0;
}

static void put_secret(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct secret);
    call_change(call, set);
}

static int rm(struct api_call *call, struct db *db, struct error *err)
{
    const struct secret_path *path = call->params;
    const struct secrets secrets = secrets_of(call);

    if (secrets_remove(&secrets, db, path->name, err) != 0)
        return -1;
    call->audit_target = path->name;
    return list(call, db, err);
}

static void delete_secret(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct secret_list);
    call_change(call, rm);
}

/* The change's transaction: the new key is in the file, and all data keys are wrapped with it. */
static int rotate(struct change *change, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(change, struct api_call, change);
    struct vault_rotated *answer = call->answer;
    size_t n;

    if (vault_rotate(engine_vault(call->api->engine), db, call, &n, err) != 0)
        return -1;
    answer->data_keys = (int64_t)n;
    call->audit_detail = arena_printf(call->arena, "{\"data_keys\":%zu}", n);
    return call_audit(call, db, call->route->audit, err);
}

static void rotated(struct change *change, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(change, struct api_call, change);
    struct vault_rotated *answer = call->answer;
    struct error unfinished = { 0 };

    answer->old_key_removed =
        vault_end_rotation(engine_vault(call->api->engine), call, err == NULL, &unfinished) == 0;
    if (!answer->old_key_removed)
        log_write(LOG_WARNING, "vault", "the old master key stays in the file: %s",
                  unfinished.text);
    if (err != NULL)
        call_reply_failure(call, err);
    else
        call_reply_answer(call, answer);
}

static void post_vault_rotate(struct api_call *call)
{
    struct error err = { 0 };

    call->answer = ARENA_NEW(call->arena, struct vault_rotated);
    call->change = (struct change){ .apply = rotate, .done = rotated };
    if (change_submit(call->api->engine, &call->change, &err) != 0)
        call_reply_failure(call, &err);
}

/* clang-format off */
const struct route vault_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/secrets", ADMIN, 200), .handler = get_secrets, .params = &tenant_path_shape, .answer = &secret_list_shape,
      .summary = "Secrets of a tenant, without their values" },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/secrets/{name}", ADMIN, 200), .handler = put_secret, .params = &secret_path_shape, .body = &secret_set_shape, .answer = &secret_shape, .audit = "secret.set",
      .summary = "Set a secret; nobody can read it back" },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/secrets/{name}", ADMIN, 200), .handler = delete_secret, .params = &secret_path_shape, .answer = &secret_list_shape, .audit = "secret.rm",
      .summary = "Remove a secret" },
    { ROUTE(POST, "/api/v1/platform/vault/rotate", PLATFORM, 200), .handler = post_vault_rotate, .answer = &vault_rotated_shape, .audit = "vault.rotate",
      .summary = "Make a new master key, while everything goes on" },
    { 0 },
};
/* clang-format on */
