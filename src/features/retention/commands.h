/* commands.h - the commands of this feature, for its feature.c. */
#pragma once
#include "cli/command.h"

extern const struct command retention_commands[];
extern const struct command backup_commands[];
extern const struct command recount_commands[];
