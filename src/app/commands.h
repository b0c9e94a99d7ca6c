/* commands.h - what the program is made of: its features and its commands. */
#pragma once
struct feature;
struct invocation;
struct program;

/* Every feature, in the order in which they start; ends in NULL. features.c. */
extern const struct feature *const features[];

/* Their counters, before anything prints metrics. */
void features_register_metrics(void);

/* All commands: those of the features, and those of the program itself. */
extern const struct program app_program;

/* Serves the API until a signal: serve.c. */
int serve_run(struct invocation *in);
