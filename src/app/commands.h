/* commands.h - the commands of the program. */
#pragma once
struct invocation;
struct program;

/* All commands: those of the features, and those of the program itself. */
extern const struct program app_program;

/* Serves the API until a signal: serve.c. */
int serve_run(struct invocation *in);
