/* feature.c - the Model Context Protocol. */
#include "engine/feature.h"

#include "features/features.h"
#include "features/mcp/routes.h"

const struct feature mcp_feature = {
    .name = "mcp",
    .about = "Model Context Protocol: read-only tools for language models.",
    .routes = { mcp_routes },
};
