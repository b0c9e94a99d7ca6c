/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/retention/commands.h"

const struct feature retention_feature = {
    .name = "retention",
    .commands = { retention_commands, backup_commands },
};
