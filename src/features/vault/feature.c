/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/vault/commands.h"

const struct feature vault_feature = {
    .name = "vault",
    .commands = { vault_commands },
};
