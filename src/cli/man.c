/* man.c - the manual page muster(1), printed from the rows of commands and settings. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/help.h"

/* Text that roff must not take for its own. */
static void print_text(const char *text)
{
    if (*text == '.' || *text == '\'')
        (void)fputs("\\&", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            (void)fputs("\\e", stdout);
        else if (*text == '-')
            (void)fputs("\\-", stdout);
        else
            (void)putchar(*text);
    }
}

/* A tagged paragraph: "--name VALUE" and what it is. */
static void print_item(const char *dashes, const char *name, const char *value, const char *help)
{
    (void)fputs(".TP\n\\fB", stdout);
    print_text(dashes);
    print_text(name);
    (void)fputs("\\fR", stdout);
    if (value[0] != '\0') {
        (void)fputs(" \\fI", stdout);
        print_text(value);
        (void)fputs("\\fR", stdout);
    }
    (void)putchar('\n');
    print_text(help);
    (void)putchar('\n');
}

static void print_examples(const struct command *c, struct arena *arena)
{
    struct str rest = str_of(c->examples);

    (void)fputs(".PP\n.nf\n.RS\n", stdout);
    while (!str_is_null(rest)) {
        print_text(arena_cstr(arena, str_split(&rest, '\n')));
        (void)putchar('\n');
    }
    (void)fputs(".RE\n.fi\n", stdout);
}

static void print_command(const struct command *c, struct arena *arena)
{
    (void)fputs(".SS \"", stdout);
    print_text(help_words(c, arena));
    for (size_t i = 0; i < COMMAND_ARGS_MAX && c->args[i].name != NULL; i++) {
        (void)putchar(' ');
        print_text(help_value(&c->args[i]));
    }
    (void)fputs("\"\n", stdout);
    print_text(c->help);
    (void)putchar('\n');
    for (size_t i = 0; i < COMMAND_ARGS_MAX && c->args[i].name != NULL; i++)
        print_item("", help_value(&c->args[i]), "", c->args[i].help);
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        print_item("--", o->name, help_value(o),
                   arena_printf(arena, "%s%s", o->help, o->required ? " (required)" : "").data);
    print_examples(c, arena);
}

static void print_setting(const struct setting *s, struct arena *arena)
{
    char flag[SETTING_NAME_MAX], variable[SETTING_NAME_MAX];

    settings_spell(s, false, flag);
    settings_spell(s, true, variable);
    print_item("--", flag, "",
               arena_printf(arena, "%s (%s; default: %s)", s->help, variable,
                            s->initial[0] == '\0' ? "none" : s->initial)
                   .data);
}

int man_run(struct invocation *in)
{
    (void)printf(".TH MUSTER 1 \"\" \"muster %s\" \"User commands\"\n"
                 ".SH NAME\nmuster \\- the service that fleets of agents report to\n"
                 ".SH SYNOPSIS\n\\fBmuster\\fR \\fINOUN\\fR [\\fIVERB\\fR] [\\fIOPTIONS\\fR]\n"
                 ".SH DESCRIPTION\n"
                 "Commands other than \\fBserve\\fR talk to the server that uses the same data "
                 "directory, or do the work themselves when none is running.\n"
                 "After \\fBmuster login\\fR, or with \\fB\\-\\-server\\fR and "
                 "\\fB\\-\\-token\\-file\\fR, they talk to a service elsewhere.\n"
                 "Every command takes \\fB\\-\\-json\\fR (output for programs), "
                 "\\fB\\-\\-help\\fR and the settings.\n.SH COMMANDS\n",
                 in->program->version);
    for (const struct command **c = command_list(in->program, &in->arena); *c != NULL; c++)
        print_command(*c, &in->arena);
    (void)fputs(".SH SETTINGS\n"
                "A setting comes from its option, else from its environment variable, else from "
                "the settings file (\\fIname = value\\fR), else from its default.\n",
                stdout);
    for (size_t i = 0; i < n_settings; i++)
        print_setting(&settings_table[i], &in->arena);
    (void)fputs(".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nit failed, or the service refused it\n"
                ".TP\n2\nwrong command line or settings\n",
                stdout);
    return EXIT_DONE;
}
