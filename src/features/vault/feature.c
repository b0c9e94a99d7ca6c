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

const struct feature vault_feature = {
    .name = "vault",
    .about = "Secrets that configuration refers to, and the keys that seal them.",
    .routes = { vault_routes },
    .commands = { vault_commands },
    .open = vault_feature_open,
    .close = vault_feature_close,
};
