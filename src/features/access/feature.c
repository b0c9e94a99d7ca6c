/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/access/commands.h"
#include "features/features.h"

const struct feature access_feature = {
    .name = "access",
    .commands = { access_commands, user_commands },
};
