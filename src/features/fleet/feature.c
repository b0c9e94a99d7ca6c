/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/fleet/routes.h"

const struct feature fleet_feature = {
    .name = "fleet",
    .about = "Agents and workflows as front ends read them.",
    .routes = { fleet_routes },
    .commands = { fleet_commands },
};
