/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/alerts/commands.h"
#include "features/features.h"

const struct feature alerts_feature = {
    .name = "alerts",
    .commands = { alert_commands },
};
