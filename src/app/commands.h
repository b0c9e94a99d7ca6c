/* commands.h - the program as its command line knows it. */
#pragma once
struct invocation;
struct program;

/* All commands: those of the features, and those that belong to none. */
extern const struct program app_program;

/* Serves the API until a signal: serve.c. */
int serve_run(struct invocation *in);
