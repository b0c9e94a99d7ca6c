/* run.c - the words of a command line checked against a row, and the runner that does what the row
 * says. */
#include "cli/command.h"

#include <assert.h>
#include <stdio.h>

#include "base/datetime.h"
#include "cli/help.h"
#include "cli/print.h"
#include "cli/request.h"
#include "cli/template.h"
#include "shape/shape.h"

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

/* Fills `in` from what follows the command's words; ERR_INVALID. */
static int parse_words(struct invocation *in, int argc, char **argv, struct error *err)
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

enum { COLUMNS_MAX = 12, GAP = 2 }; /* of lists, which are printed as tables */

static struct str cell_text(struct invocation *in, const struct column *column,
                            const struct shape *shape, const void *item)
{
    BUF_SCOPED(out, SIZE_MAX);

    if (column->cell_of != NULL)
        return str_of(column->cell_of(item));
    template_write(in, shape, item, column->cell, &out);
    return buf_take(&out, &in->arena);
}

/* Prints one line. An empty cell is printed as "-", so that columns can be counted. */
static void print_cells(const struct str *cells, const size_t *widths, size_t n)
{
    BUF_SCOPED(line, SIZE_MAX);

    for (size_t c = 0; c < n; c++) {
        const struct str text = cells[c].len == 0 ? STR_LIT("-") : cells[c];

        buf_add(&line, text);
        for (size_t w = utf8_count(text); c + 1 < n && w < widths[c] + GAP; w++)
            buf_add_char(&line, ' ');
    }
    buf_add_char(&line, '\n');
    (void)fwrite(line.data, 1, line.len, stdout);
}

/* The items of the list that is the member `field` of `answer`, by the command's columns. */
static void print_columns(struct invocation *in, const struct field *field, const void *answer,
                          bool header)
{
    const struct column *columns = in->command->columns;
    const struct list *list = (const void *)((const char *)answer + field->offset);
    size_t widths[COLUMNS_MAX] = { 0 }, n = 0;
    struct str *cells;

    while (columns[n].title != NULL)
        n++;
    assert(n <= COLUMNS_MAX);
    cells = ARENA_ARRAY(&in->arena, struct str, (list->n + 1) * n);
    for (size_t c = 0; c < n; c++)
        cells[c] = str_of(columns[c].title);
    for (size_t i = 0; i < list->n; i++)
        for (size_t c = 0; c < n; c++)
            cells[(i + 1) * n + c] = cell_text(in, &columns[c], field->nested,
                                               (const char *)list->items + i * field->nested->size);
    for (size_t i = 0; i < (list->n + 1) * n; i++)
        widths[i % n] = utf8_count(cells[i]) > widths[i % n] ? utf8_count(cells[i]) : widths[i % n];
    for (size_t i = header ? 0 : 1; i <= list->n; i++)
        print_cells(cells + i * n, widths, n);
}

/* The answer whole, one member of it, or the items of its list. */
static void print_answer(struct invocation *in, const struct shape *shape, const void *answer,
                         bool first)
{
    const struct command *c = in->command;
    const struct field *field = template_field(shape, str_of(c->raw != NULL ? c->raw : c->list));

    if (c->raw != NULL) {
        struct str text = template_text(field, answer, &in->arena);

        (void)fwrite(text.data, 1, text.len, stdout);
    } else if (c->list != NULL) {
        print_columns(in, field, answer, first);
    } else if (c->say != NULL) {
        c->say(answer);
    } else {
        template_print(in, shape, answer, c->line);
    }
}

/* For people, apart from what a script takes. */
static void print_note(struct invocation *in, const struct shape *shape, const void *answer)
{
    BUF_SCOPED(text, KIB(64));

    template_write(in, shape, answer, in->command->note, &text);
    if (text.len > 0)
        say(stderr, "muster: %.*s\n", STR_ARG(text));
}

/* Sends one request and prints its answer; *ret_next is where the next page begins, if any. */
static int do_page(struct invocation *in, const struct client_request *request, bool first,
                   struct str *ret_next, struct error *err)
{
    const struct command *c = in->command;
    const struct shape *shape = c->answer_of != NULL ? c->answer_of(in) : c->answer;
    const bool reads = shape != NULL && (!in->json || c->json_pages);
    void *answer = arena_zalloc(&in->arena, shape != NULL ? shape->size : 0);
    struct client_reply reply;

    *ret_next = STR_NULL;
    if (request_send(in, request, &reply, err) != 0 ||
        (reads && request_read(&reply, shape, &in->arena, answer, err) != 0))
        return -1;
    if (in->json)
        (void)printf("%.*s\n", STR_ARG(reply.body));
    else
        print_answer(in, shape, answer, first);
    if (!in->json && c->note != NULL)
        print_note(in, shape, answer);
    if (reads && c->next != NULL)
        *ret_next = template_text(template_field(shape, STR_LIT("next")), answer, &in->arena);
    return 0;
}

/* Does what the row says. */
static int run_row(struct invocation *in)
{
    struct client_request request;
    struct error err = { 0 };
    struct str first, next;
    BUF_SCOPED(path, MIB(1));
    int r;

    if (request_make(in, &request, &err) != 0)
        return command_fail(&err);
    first = request.path;
    assert(in->command->next == NULL || memchr(first.data, '?', first.len) != NULL);
    r = do_page(in, &request, true, &next, &err);
    while (r == 0 && !str_is_null(next)) {
        buf_clear(&path);
        buf_printf(&path, "%.*s&%s=", STR_ARG(first), in->command->next);
        print_encoded(&path, next);
        request.path = buf_str(&path);
        r = do_page(in, &request, false, &next, &err);
    }
    return r == 0 ? EXIT_DONE : command_fail(&err);
}

/* Other words by which people delete. */
static const char *verb_meant(const char *noun, const char *verb)
{
    static const struct {
        const char *noun, *verb; /* noun NULL: any */
    } deletes[] = {
        { NULL, "rm" },
        { NULL, "unset" },
        { "maintenance", "remove" },
        { "key", "revoke" },
    };

    for (size_t i = 0; i < COUNT_OF(deletes); i++)
        if (strcmp(verb, deletes[i].verb) == 0 &&
            (deletes[i].noun == NULL || strcmp(noun, deletes[i].noun) == 0))
            return "delete";
    return verb;
}

/* Does the command line begin with this command's words? */
static bool is_command(const struct command *c, int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], c->noun) != 0)
        return false;
    return c->verb == NULL || (argc > 2 && strcmp(verb_meant(c->noun, argv[2]), c->verb) == 0);
}

static const struct command *find(const struct command **list, int argc, char **argv)
{
    while (*list != NULL && !is_command(*list, argc, argv))
        list++;
    return *list;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || (i <= 3 && strcmp(argv[i], "-h") == 0))
            return true; /* further on, -h may be a value */
    return argc > 1 && strcmp(argv[1], "help") == 0;
}

/* "; did you mean 'serve'?", or "" when no verb of the noun (NULL: no noun) is near. */
static const char *hint(const struct command **list, const char *noun, const char *typed,
                        struct arena *arena)
{
    const char **words, *near;
    size_t n = 0;

    while (list[n] != NULL)
        n++;
    words = ARENA_ARRAY(arena, const char *, n + 1);
    n = 0;
    if (typed[0] == '-') { /* options that stand alone */
        static const char *const alone[] = { "--version", "--help", NULL };

        near = suggest(typed, alone);
        return near == NULL ? "" : arena_printf(arena, "; did you mean '%s'?", near).data;
    }
    for (; *list != NULL; list++)
        if (noun == NULL || (strcmp((*list)->noun, noun) == 0 && (*list)->verb != NULL))
            words[n++] = noun == NULL ? (*list)->noun : (*list)->verb;
    words[n] = NULL;
    near = suggest(typed, words);
    return near == NULL ? "" : arena_printf(arena, "; did you mean '%s'?", near).data;
}

static int refuse_words(const struct command **list, int argc, char **argv, struct arena *arena)
{
    const char *verbs = argc < 2 ? "" : help_verbs(list, argv[1], arena), *meant;

    if (argc < 2) {
        say(stderr, "muster: no command given; `muster help` lists all commands\n");
    } else if (verbs[0] == '\0') {
        meant = hint(list, NULL, argv[1], arena);
        say(stderr, "muster: unknown %s '%s'%s `muster help` lists all commands\n",
            argv[1][0] == '-' ? "option" : "command", argv[1], meant[0] != '\0' ? meant : ";");
    } else if (argc == 2 || argv[2][0] == '-') {
        say(stderr, "muster: '%s' needs a verb: %s\n", argv[1], verbs);
        (void)help_noun(stderr, list, argv[1]);
    } else {
        meant = hint(list, argv[1], argv[2], arena);
        say(stderr, "muster: '%s' has no verb '%s'%s %s %s\n", argv[1], argv[2],
            meant[0] == '\0' ? ";" : meant, meant[0] == '\0' ? "choose one of" : "It has", verbs);
    }
    return EXIT_USAGE;
}

static bool is_noun(const struct command **list, const char *word)
{
    while (*list != NULL && strcmp((*list)->noun, word) != 0)
        list++;
    return *list != NULL;
}

/* Help on the command that is named, else on the noun, else on all. */
static int print_help(const struct command **list, int argc, char **argv, struct arena *arena)
{
    const struct command *c;

    if (argc > 2 && strcmp(argv[1], "help") == 0) {
        argc--;
        argv++;
    }
    c = find(list, argc, argv);
    if (c != NULL)
        help_command(stdout, c);
    else if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0)
        help_all(stdout, list);
    else if (is_noun(list, argv[1]) && (argc == 2 || argv[2][0] == '-'))
        (void)help_noun(stdout, list, argv[1]);
    else
        return refuse_words(list, argc, argv, arena);
    return EXIT_DONE;
}

static int parse_and_run(struct invocation *in, int argc, char **argv)
{
    int skip = in->command->verb == NULL ? 2 : 3;
    struct error err = { 0 };

    if (parse_words(in, argc - skip, argv + skip, &err) != 0) {
        (void)command_fail(&err);
        (void)fputs("usage: ", stderr);
        help_usage(stderr, in->command);
        return EXIT_USAGE;
    }
    if (settings_read(in->settings_given, in->n_settings_given, &in->arena, &in->settings, &err) !=
        0)
        return command_fail(&err);
    if (in->command->local_only && in->settings.server[0] != '\0') {
        (void)err_set(&err, ERR_INVALID,
                      "'%s' works on the service's own files or database: run it on its machine, "
                      "without --server",
                      in->command->noun);
        return command_fail(&err);
    }
    if ((in->command->local_only || in->command->shows_settings) &&
        settings_check_open(&in->settings, in->settings_given, in->n_settings_given, &err) != 0)
        return command_fail(&err);
    return in->command->run != NULL ? in->command->run(in) : run_row(in);
}

int cli_run(const struct program *program, int argc, char **argv)
{
    struct invocation in = { .program = program };
    const struct command **list;
    int status;

    arena_init(&in.arena);
    list = command_list(program, &in.arena);
    in.command = find(list, argc, argv);
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
        status = printf("muster %s\n", program->version) > 0 ? EXIT_DONE : EXIT_FAILED;
    else if (asks_for_help(argc, argv))
        status = print_help(list, argc, argv, &in.arena);
    else if (in.command == NULL)
        status = refuse_words(list, argc, argv, &in.arena);
    else
        status = parse_and_run(&in, argc, argv);
    request_hang_up(&in);
    arena_done(&in.arena);
    return status;
}
