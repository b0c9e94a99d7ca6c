/* feature.c - opens the vault with the master key from the settings; routes of secrets, for admins
 * of their tenant, and of the master key, for platform admins. */
#include "engine/feature.h"

#include "api/api.h"
#include "api/call.h"
#include "base/arena.h"
#include "base/log.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/shapes.h"
#include "features/features.h"
#include "features/vault/secrets.h"

struct vault *vault_of(const struct engine *e)
{
    return engine_state(e, &vault_feature);
}

struct vault *vault_for(const struct settings *settings)
{
    const char *key_file = settings->master_key_file;
    ARENA_SCOPED(arena);

    if (key_file[0] == '\0') /* default: in the data directory */
        key_file = arena_printf(&arena, "%s/master.key", settings->data).data;
    return vault_new(key_file);
}

/* The audit log starts it, since it has to say when there are new keys. */
static int vault_feature_open(struct engine *e, void **ret_state, struct error *err)
{
    struct vault *vault = vault_for(engine_settings(e));

    (void)err;
    *ret_state = vault;
    vault_add_sealed_table(vault, &secrets_sealed);
    return 0;
}

static void vault_feature_close(void *state)
{
    vault_free(state);
}

static int list_secrets(struct api_call *call, struct db *db, struct error *err)
{
    struct listing *answer = call->answer;

    return secrets_list(db, call->tenant_id, call->arena, &answer->list, err);
}

static int set_secret(struct api_call *call, struct db *db, struct error *err)
{
    const struct secret_path *path = call->params;
    const struct secrets secrets = { vault_of(call->api->engine), call->tenant_id };
    struct secret *answer = call->answer;

    if (secrets_set(&secrets, db, path->name, call->body, answer, err) != 0)
        return -1;
    call->audit_target = path->name;
    call->audit_detail =
        arena_printf(call->arena, "{\"version\":%lld,\"shared\":%s}", (long long)answer->version,
                     answer->shared ? "true" : "false");
    return 0;
}

static int remove_secret(struct api_call *call, struct db *db, struct error *err)
{
    const struct secret_path *path = call->params;

    if (secret_remove(db, call->tenant_id, path->name, err) != 0)
        return -1;
    call->audit_target = path->name;
    return list_secrets(call, db, err);
}

/* In the transaction: adds the new key to the file and wraps all data keys with it. */
static int rotate_master_key(struct api_call *call, struct db *db, struct error *err)
{
    struct vault_rotated *answer = call->answer;
    size_t n;

    if (vault_rotate(vault_of(call->api->engine), db, call, &n, err) != 0)
        return -1;
    answer->data_keys = (int64_t)n;
    call->audit_detail = arena_printf(call->arena, "{\"data_keys\":%zu}", n);
    return 0;
}

static void master_key_rotated(struct api_call *call, const struct error *err)
{
    struct vault_rotated *answer = call->answer;
    struct error unfinished = { 0 };

    answer->old_key_removed =
        vault_end_rotation(vault_of(call->api->engine), call, err == NULL, &unfinished) == 0;
    if (!answer->old_key_removed)
        log_write(LOG_WARNING, "vault", "the old master key could not be removed from the file: %s",
                  unfinished.text);
    call_reply(call, err);
}

static int begin_rotation(struct api_call *call, struct error *err)
{
    (void)err;
    call_change(call, CHANGE_REGISTRY, rotate_master_key, master_key_rotated);
    return 0;
}

static int rotate_data_keys(struct api_call *call, struct db *db, struct error *err)
{
    const struct data_keys_query *query = call->query;
    struct data_keys_rotated *answer = call->answer;

    if (vault_rotate_data_keys(vault_of(call->api->engine), db, query->after, answer, err) != 0)
        return -1;
    call->audit_detail = arena_printf(
        call->arena, "{\"created\":%lld,\"re_encrypted\":%lld,\"destroyed\":%lld}",
        (long long)answer->created, (long long)answer->re_encrypted, (long long)answer->destroyed);
    return 0;
}

/* clang-format off */
static const struct route vault_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/secrets", ADMIN, 200), .read = list_secrets, .params = &tenant_path_shape, .answer = &secret_list_shape,
      .id = "list_secrets", .summary = "List a workspace's secrets",
      .description = "Names and versions; values cannot be read back." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/secrets/{name}", ADMIN, 200), .change = set_secret, .topic = CHANGE_NOTHING, .params = &secret_path_shape, .body = &secret_set_shape, .answer = &secret_shape, .audit = "secret.set",
      .id = "set_secret", .summary = "Set a secret",
      .description = "Text of at most 64 KiB, stored encrypted; it cannot be read back. `shared` lets workspace-wide values refer to it; left out, it stays as it is." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/secrets/{name}", ADMIN, 200), .change = remove_secret, .topic = CHANGE_NOTHING, .params = &secret_path_shape, .answer = &secret_list_shape, .audit = "secret.rm",
      .id = "delete_secret", .summary = "Delete a secret",
      .description = "Agents whose configuration refers to it get 409 from then on." },
    { ROUTE(POST, "/api/v1/platform/vault/rotate", PLATFORM, 200), .handler = begin_rotation, .answer = &vault_rotated_shape, .audit = "vault.rotate",
      .id = "rotate_master_key", .summary = "Rotate the master key",
      .description = "Wraps all data keys with a new master key while the service runs. 409 when the master key is not in a file." },
    { ROUTE(POST, "/api/v1/platform/vault/data-keys/rotate", PLATFORM, 200), .change = rotate_data_keys, .query = &data_keys_query_shape, .answer = &data_keys_rotated_shape, .audit = "vault.rotate-data",
      .id = "rotate_data_keys", .summary = "Rotate the data keys (one step)",
      .description = "Each call does a bounded part: creates a new data key per tenant, encrypts secrets again with it, and destroys the old keys at the end. Repeat it with `after` set to the answer's `next`, after `wait_s` seconds, until `next` is null. Secrets can be used all along." },
    { 0 },
};
/* clang-format on */

const struct feature vault_feature = {
    .name = "vault",
    .about = "Secrets that configuration refers to, and the keys that seal them.",
    .routes = { vault_routes },
    .commands = { vault_commands },
    .open = vault_feature_open,
    .close = vault_feature_close,
};
