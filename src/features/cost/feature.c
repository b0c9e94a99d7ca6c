/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/cost/commands.h"
#include "features/features.h"

const struct feature cost_feature = {
    .name = "cost",
    .commands = { cost_commands },
};
