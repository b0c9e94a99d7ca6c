/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/audit/commands.h"
#include "features/audit/routes.h"
#include "features/features.h"

const struct feature audit_feature = {
    .name = "audit",
    .routes = { audit_routes },
    .commands = { audit_commands },
};
