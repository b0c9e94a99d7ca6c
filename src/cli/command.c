/* command.c - the list of commands, and the runner that does what a row says. */
#include "cli/command.h"

#include <assert.h>
#include <stdio.h>

#include "cli/help.h"
#include "cli/print.h"
#include "cli/request.h"
#include "cli/template.h"
#include "engine/feature.h"
#include "shape/shape.h"

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

/* One line; what is empty is shown as "-", so that columns can be counted. */
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

/* Verbs of earlier versions go on working, for the nouns that had them. */
static const char *verb_now(const char *noun, const char *verb)
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
    return c->verb == NULL || (argc > 2 && strcmp(verb_now(c->noun, argv[2]), c->verb) == 0);
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

    if (command_parse(in, argc - skip, argv + skip, &err) != 0) {
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

/* As most programs do, beside `muster version`. */
static bool asks_for_version(int argc, char **argv)
{
    return argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0);
}

int cli_run(const struct program *program, int argc, char **argv)
{
    struct invocation in = { .program = program };
    const struct command **list;
    int status;

    arena_init(&in.arena);
    list = command_list(program, &in.arena);
    in.command = find(list, argc, argv);
    if (asks_for_version(argc, argv))
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
