/* command.c - the list of commands, and what was given to one. */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "cli/print.h"
#include "engine/feature.h"

static size_t count(const struct command *table)
{
    size_t n = 0;

    while (table != NULL && table[n].noun != NULL)
        n++;
    return n;
}

/* Puts a table's rows after those with the same noun, or with one that comes before it. */
static size_t insert(const struct command **list, size_t n, const struct command *table)
{
    for (size_t i = 0; i < count(table); i++) {
        size_t at = n++;

        for (; at > 0 && strcmp(list[at - 1]->noun, table[i].noun) > 0; at--)
            list[at] = list[at - 1];
        list[at] = &table[i];
    }
    return n;
}

const struct command **command_list(const struct program *program, struct arena *arena)
{
    const struct command **list;
    size_t n = count(program->commands);

    for (const struct feature *const *f = program->features; *f != NULL; f++)
        for (size_t i = 0; i < FEATURE_TABLES_MAX && (*f)->commands[i] != NULL; i++)
            n += count((*f)->commands[i]);
    list = ARENA_ARRAY(arena, const struct command *, n + 1);
    n = insert(list, 0, program->commands);
    for (const struct feature *const *f = program->features; *f != NULL; f++)
        for (size_t i = 0; i < FEATURE_TABLES_MAX && (*f)->commands[i] != NULL; i++)
            n = insert(list, n, (*f)->commands[i]);
    return list;
}

const char *command_value(const struct invocation *in, const char *name)
{
    for (size_t i = 0; i < in->n_given; i++)
        if (strcmp(in->given[i].option->name, name) == 0)
            return in->given[i].value;
    return NULL;
}

int command_fail(const struct error *err)
{
    say(stderr, "muster: %s\n", err->text);
    return err->code == ERR_INVALID ? EXIT_USAGE : EXIT_FAILED;
}
