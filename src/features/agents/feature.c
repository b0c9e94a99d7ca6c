/* feature.c - what the service starts, serves and stops for this feature. */
#include "engine/feature.h"
#include "features/agents/commands.h"
#include "features/features.h"

const struct feature agents_feature = {
    .name = "agents",
    .commands = { agent_commands, config_commands, directive_commands, document_commands },
};
