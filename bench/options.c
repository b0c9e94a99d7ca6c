/* options.c - reads `--name value` pairs by a table. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn static void usage(const char *program, const struct option_row *rows, size_t n)
{
    (void)fprintf(stderr, "usage: %s [--name value]...\n", program);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].number != NULL)
            (void)fprintf(stderr, "  --%-12s %s (%llu)\n", rows[i].name, rows[i].doc,
                          (unsigned long long)*rows[i].number);
        else
            (void)fprintf(stderr, "  --%-12s %s (%s)\n", rows[i].name, rows[i].doc, *rows[i].text);
    }
    exit(2);
}

static const struct option_row *find(const char *argument, const struct option_row *rows, size_t n)
{
    if (strncmp(argument, "--", 2) != 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(argument + 2, rows[i].name) == 0)
            return &rows[i];
    return NULL;
}

void options_read(int argc, char **argv, const struct option_row *rows, size_t n)
{
    for (int i = 1; i < argc; i += 2) {
        const struct option_row *row = find(argv[i], rows, n);
        char *end;

        if (row == NULL || i + 1 == argc)
            usage(argv[0], rows, n);
        if (row->text != NULL) {
            *row->text = argv[i + 1];
            continue;
        }
        errno = 0;
        *row->number = strtoull(argv[i + 1], &end, 10);
        if (errno != 0 || *end != '\0' || end == argv[i + 1] || argv[i + 1][0] == '-')
            usage(argv[0], rows, n);
    }
}
