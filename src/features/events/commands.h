/* commands.h - the commands of this feature, for its feature.c. */
#pragma once
#include "cli/command.h"

extern const struct command event_commands[];

/* In run_commands.c. */
int run_show_run(struct invocation *in);
int run_tail_run(struct invocation *in);
