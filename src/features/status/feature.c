/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/status/routes.h"

const struct feature status_feature = {
    .name = "status",
    .about = "Health, limits and this document.",
    .routes = { health_routes, metrics_routes },
};
