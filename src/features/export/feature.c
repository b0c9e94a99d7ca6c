/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/export/commands.h"
#include "features/features.h"

const struct feature export_feature = {
    .name = "export",
    .commands = { export_commands },
};
