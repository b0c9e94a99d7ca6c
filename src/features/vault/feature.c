/* feature.c - opens the vault with the master key from the settings. */
#include "engine/feature.h"

#include "base/arena.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/features.h"
#include "features/vault/routes.h"
#include "features/vault/secrets_store.h"
#include "features/vault/vault.h"

struct vault *vault_of(const struct engine *e)
{
    return engine_state(e, &vault_feature);
}

static int vault_feature_open(struct engine *e, void **ret_state, struct error *err)
{
    const struct settings *settings = engine_settings(e);
    const char *key_file = settings->master_key_file;
    struct vault *vault;
    ARENA_SCOPED(arena);

    if (key_file[0] == '\0') /* default: in the data directory */
        key_file = arena_printf(&arena, "%s/master.key", settings->data).data;
    *ret_state = vault = vault_new(key_file);
    vault_add_sealed_table(vault, &secrets_sealed);
    return engine_serves(e) ? vault_start(vault, engine_open_db(e), err) : 0;
}

static void vault_feature_close(void *state)
{
    vault_free(state);
}

const struct feature vault_feature = {
    .name = "vault",
    .about = "Secrets that configuration refers to, and the keys that seal them.",
    .routes = { vault_routes },
    .commands = { vault_commands },
    .open = vault_feature_open,
    .close = vault_feature_close,
};
