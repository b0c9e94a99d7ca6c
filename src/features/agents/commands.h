/* commands.h - the commands of this feature, for its feature.c. */
#pragma once
#include "cli/command.h"

extern const struct command agent_commands[];
extern const struct command config_commands[];
extern const struct command directive_commands[];
extern const struct command document_commands[];
extern const struct command schedule_commands[];
