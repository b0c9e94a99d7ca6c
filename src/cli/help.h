/* help.h - what the program says of its commands, from their rows. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"

struct command;
struct invocation;
struct option;

/* How usage shows the value of an option or argument: "SLUG", "a|b|c"; "" for a flag. */
const char *help_value(const struct option *option);

/* "muster NOUN VERB", without what follows; in the arena. */
const char *help_words(const struct command *c, struct arena *arena);

/* "--tenant, --label": the command's options, in the arena; only those that change something when
 * `changes`. */
const char *help_options(const struct command *c, bool changes, struct arena *arena);

/* "add, set, list": the verbs of a noun, or for NULL all nouns; in the arena, "" when none. */
const char *help_verbs(const struct command **list, const char *noun, struct arena *arena);

/* "muster NOUN VERB …", one line. */
void help_usage(FILE *out, const struct command *c);

/* All of one command: usage, purpose, options, examples; of `serve` also the settings. */
void help_command(FILE *out, const struct command *c);

/* All commands of a noun; false when there are none. */
bool help_noun(FILE *out, const struct command **list, const char *noun);

/* All commands. */
void help_all(FILE *out, const struct command **list);

/* Prints the manual page muster(1), in roff; or a script that lets bash or zsh complete commands,
 * options and files (completion.c). */
int man_run(struct invocation *in);
int completion_run(struct invocation *in);
