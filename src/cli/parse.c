/* parse.c - the words after a command, checked against its row. */
#include <assert.h>
#include <stdio.h>

#include "base/datetime.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/request.h"

enum { COMMAND_OPTIONS_MAX = 128 }; /* of a command, with the settings */

/* "--tenant" of an option, "SLUG" of an argument, whose choices are no name for it. */
static const char *label_of(struct invocation *in, const struct option *option)
{
    const struct command *c = in->command;

    if (option < c->args || option >= c->args + COMMAND_ARGS_MAX)
        return arena_printf(&in->arena, "--%s", option->name).data;
    return option->type == OPTION_WORD ? option->name : help_value(option);
}

static bool is_word(const char *words, const char *value)
{
    struct str rest = str_of(words);

    while (!str_is_null(rest))
        if (str_eq_c(str_split(&rest, '|'), value))
            return true;
    return false;
}

/* "a, b, c" of "a|b|c". */
static const char *comma_list(struct invocation *in, const char *words)
{
    BUF_SCOPED(out, KIB(4));
    const char *text;

    for (; *words != '\0'; words++)
        buf_add(&out, *words == '|' ? STR_LIT(", ") : str_from(words, 1));
    text = arena_cstr(&in->arena, buf_str(&out));
    return text;
}

static int check_value(struct invocation *in, const struct option *option, const char *value,
                       struct error *err)
{
    const char *label = label_of(in, option), *problem;
    int64_t number;
    int least;

    switch (option->type) {
    case OPTION_NAME:
        return value[0] != '\0' ? 0 : err_set(err, ERR_INVALID, "%s must not be empty", label);
    case OPTION_TENANT:
        if (in->program->is_slug(str_of(value)))
            return 0;
        return err_set(err, ERR_INVALID, "%s: '%s' is not a tenant's slug", label, value);
    case OPTION_NUMBER:
    case OPTION_AMOUNT:
        least = option->type == OPTION_NUMBER ? 1 : 0;
        if (str_to_int(str_of(value), &number) && number >= least)
            return 0;
        return err_set(err, ERR_INVALID, "%s: '%s' is not a whole number from %d on", label, value,
                       least);
    case OPTION_TIME:
        problem = datetime_parse(str_of(value), &number);
        if (problem == NULL)
            return 0;
        return err_set(err, ERR_INVALID,
                       "%s: '%s' is not a date-time such as 2030-01-01T00:00:00Z: %s", label, value,
                       problem);
    case OPTION_WORD:
        if (is_word(option->value, value))
            return 0;
        return err_set(err, ERR_INVALID, "%s: '%s' is not one of %s", label, value,
                       comma_list(in, option->value));
    default:
        return 0;
    }
}

static int add_value(struct invocation *in, const struct option *option, const char *value,
                     struct error *err)
{
    int64_t number;

    if (check_value(in, option, value, err) != 0)
        return -1;
    if ((option->type == OPTION_NUMBER || option->type == OPTION_AMOUNT) &&
        str_to_int(str_of(value), &number))
        value = arena_printf(&in->arena, "%lld", (long long)number).data; /* 7 of 007 */
    if (in->n_given == COMMAND_GIVEN_MAX)
        return err_set(err, ERR_INVALID, "too many options at '%s'", value);
    if (command_value(in, option->name) != NULL)
        return err_set(err, ERR_INVALID, "%s is given twice", label_of(in, option));
    in->given[in->n_given++] = (struct given){ option, value };
    return 0;
}

static int add_setting(struct invocation *in, const char *name, const char *value,
                       struct error *err)
{
    if (in->n_settings_given == COMMAND_GIVEN_MAX)
        return err_set(err, ERR_INVALID, "too many options at '--%s'", name);
    in->settings_given[in->n_settings_given++] = (struct setting_flag){ name, value };
    return 0;
}

static const struct option *find_option(const struct command *c, const char *name)
{
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* " (did you mean --tenant?)", or "" when no option or setting is near. */
static const char *option_hint(struct invocation *in, const char *name)
{
    const char *words[COMMAND_OPTIONS_MAX], *near;
    size_t n = 0;

    for (const struct option *o = in->command->options; o != NULL && o->name != NULL; o++)
        words[n++] = o->name;
    words[n++] = "json";
    words[n++] = "help";
    for (size_t i = 0; i < n_settings; i++) {
        char *flag = arena_alloc(&in->arena, SETTING_NAME_MAX);

        settings_spell(&settings_table[i], false, flag);
        words[n++] = flag;
    }
    assert(n < COMMAND_OPTIONS_MAX);
    words[n] = NULL;
    near = suggest(name, words);
    return near == NULL ? "" : arena_printf(&in->arena, " (did you mean --%s?)", near).data;
}

static int refuse_option(struct invocation *in, const char *given, struct error *err)
{
    const char *known = help_options(in->command, false, &in->arena);
    struct str rest = str_of(given + 2), name = str_split(&rest, '=');
    const char *meant = option_hint(in, arena_cstr(&in->arena, name));

    return err_set(err, ERR_INVALID,
                   "unknown option '%s'%s; this command takes %s%s--json, --help %s", given, meant,
                   known, known[0] == '\0' ? "" : ", ", "and the settings");
}

/* Gives a flag, an option with a value (NULL: none follows) or a setting what it was given. */
static int take_value(struct invocation *in, const char *name, const char *value, struct error *err)
{
    const struct option *option = find_option(in->command, name);

    if (value == NULL)
        return err_set(err, ERR_INVALID, "--%s needs a value%s%s", name, option != NULL ? ": " : "",
                       option != NULL ? help_value(option) : "");
    return option != NULL ? add_value(in, option, value, err) : add_setting(in, name, value, err);
}

/* One word that begins with "--", and perhaps its value: returns how many were taken, or -1. */
static int take_option(struct invocation *in, int n, char **words, struct error *err)
{
    struct str equals = str_of(words[0] + 2), spelled = str_split(&equals, '=');
    const char *name = arena_cstr(&in->arena, spelled), *next = n > 1 ? words[1] : NULL;
    const struct option *option = find_option(in->command, name);
    const bool joined = !str_is_null(equals), is_json = strcmp(name, "json") == 0;

    if (is_json && !joined) {
        in->json = true;
        return 1;
    }
    if (option == NULL && settings_find_flag(name) == NULL)
        return refuse_option(in, words[0], err);
    if (option != NULL && option->type == OPTION_FLAG) {
        if (joined)
            return err_set(err, ERR_INVALID, "--%s takes no value", name);
        return take_value(in, name, "", err) == 0 ? 1 : -1;
    }
    if (take_value(in, name, joined ? equals.data : next, err) != 0)
        return -1;
    return joined ? 1 : 2;
}

static int check_missing(struct invocation *in, size_t n_args, struct error *err)
{
    const struct command *c = in->command;

    if (n_args < COMMAND_ARGS_MAX && c->args[n_args].name != NULL)
        return err_set(err, ERR_INVALID, "%s is missing", help_value(&c->args[n_args]));
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        if (o->required && command_value(in, o->name) == NULL)
            return err_set(err, ERR_INVALID, "--%s %s is missing", o->name, help_value(o));
    return 0;
}

static int check_needs(struct invocation *in, struct error *err)
{
    for (size_t i = 0; i < in->n_given; i++) {
        const struct option *o = in->given[i].option;

        if (o->needs != NULL && command_value(in, o->needs) == NULL)
            return err_set(err, ERR_INVALID, "--%s needs --%s", o->name, o->needs);
    }
    return 0;
}

/* What the path names says whom to change, everything else what. */
static int check_change(struct invocation *in, struct error *err)
{
    const struct command *c = in->command;
    size_t n = 0;

    for (size_t i = 0; i < in->n_given; i++)
        n += !request_in_path(c, in->given[i].option->name);
    if (n > 0 || !c->needs_change)
        return 0;
    return err_set(err, ERR_INVALID, "nothing to change: give at least one of %s",
                   help_options(c, true, &in->arena));
}

int command_parse(struct invocation *in, int argc, char **argv, struct error *err)
{
    const struct command *c = in->command;
    size_t n_args = 0;

    for (int i = 0; i < argc;) {
        if (strncmp(argv[i], "--", 2) == 0) {
            int taken = take_option(in, argc - i, argv + i, err);

            if (taken < 0)
                return -1;
            i += taken;
        } else if (n_args < COMMAND_ARGS_MAX && c->args[n_args].name != NULL) {
            if (add_value(in, &c->args[n_args++], argv[i++], err) != 0)
                return -1;
        } else {
            return err_set(err, ERR_INVALID, "unexpected argument '%s'", argv[i]);
        }
    }
    return check_missing(in, n_args, err) != 0 || check_needs(in, err) != 0 ||
                   check_change(in, err) != 0
               ? -1
               : 0;
}
