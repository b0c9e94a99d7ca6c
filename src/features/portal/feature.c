/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/portal/routes.h"

const struct feature portal_feature = {
    .name = "portal",
    .routes = { portal_routes },
};
