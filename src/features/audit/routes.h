/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route audit_routes[];
extern const struct command audit_commands[], reset_commands[];
