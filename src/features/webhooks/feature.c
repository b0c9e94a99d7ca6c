/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/features.h"
#include "features/webhooks/commands.h"

const struct feature webhooks_feature = {
    .name = "webhooks",
    .commands = { webhook_commands },
};
