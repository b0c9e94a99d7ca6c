/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/access/routes.h"
#include "features/features.h"

const struct feature access_feature = {
    .name = "access",
    .routes = { key_routes, tenant_routes, sign_in_routes, password_routes, user_routes,
                tenant_user_routes },
};
