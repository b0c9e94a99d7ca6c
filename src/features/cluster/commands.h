/* commands.h - the commands of this feature, for its feature.c. */
#pragma once
#include "cli/command.h"

extern const struct command cluster_commands[];
