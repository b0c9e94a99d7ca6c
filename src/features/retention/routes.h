/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route retention_routes[];
extern const struct command retention_commands[], backup_commands[], recount_commands[];
