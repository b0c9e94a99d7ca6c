/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route agent_routes[], config_routes[], directive_routes[], document_routes[],
    heartbeat_routes[], register_routes[], schedule_routes[], value_routes[];
extern const struct command agent_commands[], config_commands[], directive_commands[],
    document_commands[], schedule_commands[];
