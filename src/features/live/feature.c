/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/live/routes.h"

const struct feature live_feature = {
    .name = "live",
    .routes = { live_routes },
};
