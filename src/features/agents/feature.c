/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/agents/routes.h"
#include "features/features.h"

const struct feature agents_feature = {
    .name = "agents",
    .routes = { register_routes, heartbeat_routes, directive_routes, config_routes, document_routes,
                agent_routes, value_routes },
};
