/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route alert_routes[], rule_routes[], handling_routes[];
extern const struct command alert_commands[];
