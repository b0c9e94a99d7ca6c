/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route llm_report_routes[], price_routes[], usage_routes[];
extern const struct command cost_commands[];
