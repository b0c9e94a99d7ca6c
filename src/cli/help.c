/* help.c - usage and help of commands, and the manual page muster(1). */
#include "cli/help.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/command.h"
#include "cli/request.h"

const char *help_value(const struct option *option)
{
    static const char *const by_type[] = {
        [OPTION_TEXT] = "TEXT", [OPTION_NAME] = "NAME", [OPTION_TENANT] = "SLUG",
        [OPTION_NUMBER] = "N",  [OPTION_AMOUNT] = "N",  [OPTION_TIME] = "DATE-TIME",
        [OPTION_WORD] = "WORD", [OPTION_FILE] = "FILE", [OPTION_BODY] = "FILE",
        [OPTION_FLAG] = "",
    };

    return option->value != NULL ? option->value : by_type[option->type];
}

/* Adds a word to a list of them. */
static void add_word(struct buf *out, const char *dashes, const char *word)
{
    buf_printf(out, "%s%s%s", out->len > 0 ? ", " : "", dashes, word);
}

static const char *finish(struct buf *text, struct arena *arena)
{
    const char *copy = arena_cstr(arena, buf_str(text));

    buf_done(text);
    return copy;
}

const char *help_options(const struct command *c, bool changes, struct arena *arena)
{
    struct buf text;

    buf_init(&text, KIB(4));
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        if (!changes || !request_in_path(c, o->name))
            add_word(&text, "--", o->name);
    return finish(&text, arena);
}

const char *help_verbs(const struct command **list, const char *noun, struct arena *arena)
{
    const char *last = "";
    struct buf text;

    buf_init(&text, KIB(4));
    for (; *list != NULL; list++) {
        if (noun == NULL && strcmp((*list)->noun, last) != 0)
            add_word(&text, "", (*list)->noun);
        else if (noun != NULL && strcmp((*list)->noun, noun) == 0 && (*list)->verb != NULL)
            add_word(&text, "", (*list)->verb);
        last = (*list)->noun;
    }
    return finish(&text, arena);
}

const char *help_words(const struct command *c, struct arena *arena)
{
    return arena_printf(arena, "muster %s%s%s", c->noun, c->verb == NULL ? "" : " ",
                        c->verb == NULL ? "" : c->verb)
        .data;
}

void help_usage(FILE *out, const struct command *c)
{
    (void)fprintf(out, "muster %s%s%s", c->noun, c->verb == NULL ? "" : " ",
                  c->verb == NULL ? "" : c->verb);
    for (size_t i = 0; i < COMMAND_ARGS_MAX && c->args[i].name != NULL; i++)
        (void)fprintf(out, " %s", help_value(&c->args[i]));
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        (void)fprintf(out, " %s--%s%s%s%s", o->required ? "" : "[", o->name,
                      o->type == OPTION_FLAG ? "" : " ", help_value(o), o->required ? "" : "]");
    (void)fputc('\n', out);
}

static void print_examples(FILE *out, const struct command *c, const char *indent)
{
    struct str rest = str_of(c->examples);

    while (!str_is_null(rest)) {
        struct str line = str_split(&rest, '\n');

        (void)fprintf(out, "%s%.*s\n", indent, STR_ARG(line));
    }
}

/* "  --tenant SLUG                  help (required)". */
static void print_option(FILE *out, const struct option *o, const char *dashes)
{
    enum { LEFT_WIDTH = 30 };
    char left[128];
    int n = snprintf(left, sizeof(left), "%s%s%s%s", dashes, dashes[0] == '\0' ? "" : o->name,
                     dashes[0] == '\0' || o->type == OPTION_FLAG ? "" : " ", help_value(o));

    (void)fprintf(out, "  %-*s", LEFT_WIDTH, left);
    if (n > LEFT_WIDTH)
        (void)fprintf(out, "\n  %-*s", LEFT_WIDTH, "");
    (void)fprintf(out, " %s%s\n", o->help, o->required ? " (required)" : "");
}

void help_command(FILE *out, const struct command *c)
{
    help_usage(out, c);
    (void)fprintf(out, "%s\n\n", c->help);
    for (size_t i = 0; i < COMMAND_ARGS_MAX && c->args[i].name != NULL; i++)
        print_option(out, &c->args[i], "");
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        print_option(out, o, "--");
    (void)fputs(c->args[0].name != NULL || c->options != NULL ? "\nExamples:\n" : "Examples:\n",
                out);
    print_examples(out, c, "  ");
    if (c->shows_settings) {
        BUF_SCOPED(text, KIB(64));

        settings_print(&text);
        (void)fprintf(out, "\nSettings:\n%.*s", STR_ARG(text));
    }
    (void)fputs(
        "\nEvery command also takes --json (output for programs), --help and the settings, "
        "of which\n--server, --data, --database and --config say which service it is about; "
        "`muster help serve` lists them.\n",
        out);
}

bool help_noun(FILE *out, const struct command **list, const char *noun)
{
    bool any = false;

    for (; *list != NULL; list++) {
        if (strcmp((*list)->noun, noun) != 0)
            continue;
        any = true;
        help_usage(out, *list);
        (void)fprintf(out, "        %s\n", (*list)->help);
        print_examples(out, *list, "        $ ");
    }
    return any;
}

void help_all(FILE *out, const struct command **list)
{
    (void)fputs("muster - the service that fleets of agents report to\n\n"
                "To begin:\n"
                "  $ muster serve\n"
                "  $ muster tenant add acme\n"
                "  $ muster key add --tenant acme\n\n"
                "Commands:\n",
                out);
    for (; *list != NULL; list++) {
        (void)fputs("  ", out);
        help_usage(out, *list);
        (void)fprintf(out, "        %s\n", (*list)->help);
    }
    (void)fputs("\n`muster NOUN` and `muster NOUN VERB --help` show options and examples.\n"
                "Every command takes --json (output for programs), --help and the settings, which\n"
                "`muster help serve` lists; --server, --data, --database and --config say which "
                "service it is about.\n",
                out);
}

/* The manual page */

/* Text that roff must not take for its own. */
static void roff_text(const char *text)
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
static void roff_item(const char *dashes, const char *name, const char *value, const char *help)
{
    (void)fputs(".TP\n\\fB", stdout);
    roff_text(dashes);
    roff_text(name);
    (void)fputs("\\fR", stdout);
    if (value[0] != '\0') {
        (void)fputs(" \\fI", stdout);
        roff_text(value);
        (void)fputs("\\fR", stdout);
    }
    (void)putchar('\n');
    roff_text(help);
    (void)putchar('\n');
}

static void roff_examples(const struct command *c, struct arena *arena)
{
    struct str rest = str_of(c->examples);

    (void)fputs(".PP\n.nf\n.RS\n", stdout);
    while (!str_is_null(rest)) {
        roff_text(arena_cstr(arena, str_split(&rest, '\n')));
        (void)putchar('\n');
    }
    (void)fputs(".RE\n.fi\n", stdout);
}

static void roff_command(const struct command *c, struct arena *arena)
{
    (void)fputs(".SS \"", stdout);
    roff_text(help_words(c, arena));
    for (size_t i = 0; i < COMMAND_ARGS_MAX && c->args[i].name != NULL; i++) {
        (void)putchar(' ');
        roff_text(help_value(&c->args[i]));
    }
    (void)fputs("\"\n", stdout);
    roff_text(c->help);
    (void)putchar('\n');
    for (size_t i = 0; i < COMMAND_ARGS_MAX && c->args[i].name != NULL; i++)
        roff_item("", help_value(&c->args[i]), "", c->args[i].help);
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        roff_item("--", o->name, help_value(o),
                  arena_printf(arena, "%s%s", o->help, o->required ? " (required)" : "").data);
    roff_examples(c, arena);
}

static void roff_setting(const struct setting *s, struct arena *arena)
{
    char flag[SETTING_NAME_MAX], variable[SETTING_NAME_MAX];

    settings_spell(s, false, flag);
    settings_spell(s, true, variable);
    roff_item("--", flag, "",
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
        roff_command(*c, &in->arena);
    (void)fputs(".SH SETTINGS\n"
                "A setting comes from its option, else from its environment variable, else from "
                "the settings file (\\fIname = value\\fR), else from its default.\n",
                stdout);
    for (size_t i = 0; i < n_settings; i++)
        roff_setting(&settings_table[i], &in->arena);
    (void)fputs(".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nit failed, or the service refused it\n"
                ".TP\n2\nwrong command line or settings\n",
                stdout);
    return EXIT_DONE;
}
