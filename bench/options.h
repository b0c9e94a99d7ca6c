/* options.h - the command lines of the bench programs: `--name value`, all of them optional. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* One option; it has either a number or a text, which hold the default. */
struct option_row {
    const char *name;
    uint64_t *number;
    const char **text;
    const char *doc;
};

/* Fills in what the arguments say. Prints the usage and ends the process when they cannot be read.
 */
void options_read(int argc, char **argv, const struct option_row *rows, size_t n);
