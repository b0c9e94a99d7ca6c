/* commands.h - the commands of this feature, for its feature.c. */
#pragma once
#include "cli/command.h"

extern const struct command access_commands[];
extern const struct command link_commands[];
extern const struct command user_commands[];
extern const struct command login_commands[];
