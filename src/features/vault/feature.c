/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/vault/routes.h"

const struct feature vault_feature = {
    .name = "vault",
    .routes = { vault_routes },
};
