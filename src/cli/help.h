/* help.h - what the program says of its commands, from their table. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

struct command;

/* One or two command lines that work, a line each (examples.c); NULL when there are none. */
const char *help_examples(const struct command *c);

/* "muster NOUN VERB …", one line. */
void help_usage(FILE *out, const struct command *c);

/* All of one command: usage, what it does, examples, settings. */
void help_command(FILE *out, const struct command *c);

/* All commands of a noun; false when there are none. */
bool help_noun(FILE *out, const char *noun);

/* All commands and settings. */
void help_all(FILE *out);
