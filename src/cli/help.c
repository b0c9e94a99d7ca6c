/* help.c - usage and help of commands. */
#include "cli/help.h"

#include <string.h>

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

static void print_settings(FILE *out)
{
    BUF_SCOPED(text, KIB(64));

    settings_print(&text);
    (void)fprintf(out, "%.*s", STR_ARG(text));
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
        (void)fputs("\nSettings:\n", out);
        print_settings(out);
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
