/* help.c - usage and help of commands. */
#include "cli/help.h"

#include <string.h>

#include "cli/command.h"

void help_usage(FILE *out, const struct command *c)
{
    (void)fprintf(out, "muster %s%s%s%s%s\n", c->noun, c->verb == NULL ? "" : " ",
                  c->verb == NULL ? "" : c->verb, c->usage[0] == '\0' ? "" : " ", c->usage);
}

static void print_settings(FILE *out)
{
    struct buf text;

    buf_init(&text, KIB(64));
    settings_print(&text);
    (void)fprintf(out, "%.*s", STR_ARG(buf_str(&text)));
    buf_done(&text);
}

static void print_examples(FILE *out, const struct command *c, const char *indent)
{
    struct str rest = str_of(help_examples(c));

    while (!str_is_null(rest)) {
        struct str line = str_split(&rest, '\n');

        (void)fprintf(out, "%s%.*s\n", indent, STR_ARG(line));
    }
}

void help_command(FILE *out, const struct command *c)
{
    help_usage(out, c);
    (void)fprintf(out, "%s\n\nExamples:\n", c->help);
    print_examples(out, c, "  ");
    (void)fputs("\nIt takes --json (an answer for programs), --help and these settings:\n", out);
    print_settings(out);
}

bool help_noun(FILE *out, const char *noun)
{
    bool any = false;

    for (size_t i = 0; i < n_commands; i++) {
        if (strcmp(commands[i].noun, noun) != 0)
            continue;
        any = true;
        help_usage(out, &commands[i]);
        (void)fprintf(out, "        %s\n", commands[i].help);
        print_examples(out, &commands[i], "        $ ");
    }
    return any;
}

void help_all(FILE *out)
{
    (void)fputs("muster - the service that fleets of agents report to\n\n", out);
    for (size_t i = 0; i < n_commands; i++) {
        (void)fputs("  ", out);
        help_usage(out, &commands[i]);
        (void)fprintf(out, "        %s\n", commands[i].help);
    }
    (void)fputs("\nTo begin:\n"
                "  $ muster serve\n"
                "  $ muster tenant add acme\n"
                "  $ muster key add --tenant acme\n"
                "\n`muster NOUN` and `muster NOUN VERB --help` show examples of each command.\n"
                "Every command takes --json (an answer for programs), --help and these settings:\n",
                out);
    print_settings(out);
}
