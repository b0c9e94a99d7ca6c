/* test_commands.c - the rows of commands as a whole, and the lines that templates make. */
#include "app/assemble.h"

#include <stdbool.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/request.h"
#include "cli/template.h"
#include "shape/table.h"
#include "test.h"

struct world {
    struct invocation in;
    const struct command **list;
};

static void begin(struct world *w)
{
    *w = (struct world){ .in.program = &app_program };
    arena_init(&w->in.arena);
    w->list = command_list(&app_program, &w->in.arena);
}

static const struct option *find_option(const struct command *c, struct str name)
{
    for (size_t i = 0; i < COMMAND_ARGS_MAX && c->args[i].name != NULL; i++)
        if (str_eq_c(name, c->args[i].name))
            return &c->args[i];
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        if (str_eq_c(name, o->name))
            return o;
    return NULL;
}

/* A member of the shape, or of what is nested in it. */
static bool has_field(const struct shape *shape, struct str name)
{
    if (template_field(shape, name) != NULL)
        return true;
    for (size_t i = 0; shape != NULL && i < shape->n_fields; i++)
        if (shape->fields[i].nested != NULL && has_field(shape->fields[i].nested, name))
            return true;
    return false;
}

/* How many names of the template are neither a member nor an argument or option. */
static size_t unknown_names(const struct command *c, const struct shape *shape, const char *text)
{
    size_t n = 0;

    while (text != NULL && (text = strchr(text, '{')) != NULL) {
        struct str name;

        text++;
        name = str_from(text, strspn(text, "abcdefghijklmnopqrstuvwxyz_-"));
        n += name.len > 0 && !has_field(shape, name) && find_option(c, name) == NULL;
    }
    return n;
}

TEST(nouns_are_in_order_and_no_command_is_there_twice)
{
    struct world w;

    begin(&w);
    CHECK(w.list[0] != NULL);
    for (size_t i = 1; w.list[i] != NULL; i++) {
        CHECK(strcmp(w.list[i - 1]->noun, w.list[i]->noun) <= 0);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(w.list[i]->noun, w.list[j]->noun) != 0 ||
                  strcmp(w.list[i]->verb, w.list[j]->verb) != 0);
    }
    arena_done(&w.in.arena);
}

TEST(every_command_argument_and_option_has_help)
{
    struct world w;

    begin(&w);
    for (size_t i = 0; w.list[i] != NULL; i++) {
        const struct command *c = w.list[i];

        CHECK(c->help != NULL && c->examples != NULL);
        CHECK(c->run != NULL || (c->path != NULL && (c->line != NULL || c->say != NULL ||
                                                     c->raw != NULL || c->columns != NULL)));
        CHECK(c->run != NULL || (c->list != NULL) == (c->columns != NULL));
        for (size_t a = 0; a < COMMAND_ARGS_MAX && c->args[a].name != NULL; a++)
            CHECK(c->args[a].help != NULL && c->args[a].value != NULL);
        for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
            CHECK(o->help != NULL && (o->type != OPTION_WORD || o->value != NULL));
    }
    arena_done(&w.in.arena);
}

TEST(paths_bodies_and_lines_name_what_is_there)
{
    static const struct option tenant = { .name = "tenant" };
    struct world w;

    begin(&w);
    w.in.given[0] =
        (struct given){ &tenant, "acme" }; /* the answers of a tenant have all members */
    w.in.n_given = 1;
    for (size_t i = 0; w.list[i] != NULL; i++) {
        const struct command *c = w.list[i];
        const struct shape *shape = c->answer_of != NULL ? c->answer_of(&w.in) : c->answer;
        const char *member = c->raw != NULL ? c->raw : c->list;

        CHECK_INT(unknown_names(c, NULL, c->path), 0);
        CHECK(c->answer_of != NULL || unknown_names(c, shape, c->line) == 0);
        CHECK(c->answer_of != NULL || unknown_names(c, shape, c->note) == 0);
        CHECK(member == NULL || template_field(shape, str_of(member)) != NULL);
        CHECK(c->next == NULL || template_field(shape, STR_LIT("next")) != NULL);
        CHECK(c->next == NULL || strchr(c->path, '?') != NULL); /* it is appended with '&' */
        for (const struct option *o = c->options; o != NULL && o->name != NULL; o++) {
            CHECK(o->needs == NULL || find_option(c, str_of(o->needs)) != NULL);
            CHECK(c->body == NULL || request_in_path(c, o->name) ||
                  template_field(c->body, str_of(request_field(&w.in, o))) != NULL);
        }
    }
    arena_done(&w.in.arena);
}

struct line {
    struct str name, note;
    bool on;
    int64_t count;
    struct opt_int most;
    struct list words;
};

/* clang-format off */
STATIC_SHAPE(line, "Line", (),
    STR(name),
    STR(note),
    BOOL(on),
    INT(count),
    OPT_INT(most),
    LIST_STR(words));
/* clang-format on */

static void check_line(const char *template, const char *expected)
{
    static const struct option agent = { .name = "agent" };
    struct str words[] = { STR_INIT("a"), STR_INIT("b") };
    const struct line line = { .name = STR_INIT("x\x1b[2J"),
                               .note = STR_NULL,
                               .on = true,
                               .count = 0,
                               .most = { true, 0 },
                               .words = { words, COUNT_OF(words) } };
    struct invocation in = { .given = { { &agent, "b/o.t" } }, .n_given = 1 };
    struct buf out;

    arena_init(&in.arena);
    buf_init(&out, KIB(1));
    template_write(&in, &line_shape, &line, template, &out);
    CHECK_STR(buf_str(&out), expected);
    buf_clear(&out);
    template_write_path(&in, "/agents/{agent}", &out);
    CHECK_STR(buf_str(&out), "/agents/b%2fo%2et");
    buf_done(&out);
    arena_done(&in.arena);
}

TEST(a_template_is_filled_from_the_answer_and_the_command_line)
{
    static const struct {
        const char *template, *expected;
    } rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "{name}", "x\\x1b[2J" },
        { "{name#}", "5" },
        { "[{name:-10}]", "[x\\x1b[2J  ]" },
        { "[{count:3}]", "[  0]" },
        { "[{name:3}]", "[x\\x1b[2J]" },
        { "'{agent}'", "'b/o.t'" },
        { "{note}{nobody}", "" },
        { "{on?on|off}", "on" },
        { "[{on:-4?on|off}]", "[on  ]" },
        { "{note?note {note}|no note}", "no note" },
        { "{note?{note}}", "" },
        { "{count?{count}|none}", "none" },
        { "{most?{most}|none}", "0" },
        { "{agent? of '{agent}'{on?, on}}", " of 'b/o.t', on" },
        { "{words* <{}>}.", " <a> <b>." },
        { "{nobody*{}}", "" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_line(rows[i].template, rows[i].expected);
}

TEST(a_mistyped_word_suggests_the_nearest_one)
{
    static const char *const words[] = { "serve", "secret", "settings", "list", "add", NULL };
    static const struct {
        const char *typed, *expected;
    } rows[] = {
        { "serv", "serve" },
        { "sevre", "serve" },
        { "setings", "settings" },
        { "lits", "list" },
        { "secert", "secret" },
        { "ad", "add" },
        { "x", NULL },
        { "brew", NULL },
        { "", NULL },
        { "a-word-that-is-much-longer-than-any-that-the-program-has-for-itself", NULL },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *found = suggest(rows[i].typed, words);

        CHECK((found == NULL) == (rows[i].expected == NULL));
        CHECK(found == NULL || strcmp(found, rows[i].expected) == 0);
    }
}
