/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route key_routes[], tenant_routes[];
extern const struct command access_commands[];
