/* routes.h - the routes and commands of this feature, for its feature.c. */
#pragma once
#include "api/route.h"
#include "cli/command.h"

extern const struct route run_routes[], telemetry_routes[];
extern const struct command event_commands[];

/* In run_commands.c. */
int run_show_run(struct invocation *in);
int run_tail_run(struct invocation *in);
