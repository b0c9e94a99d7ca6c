/* command.h - the commands of the command line, one row each.
 *
 * A row says what a command takes, what it sends to the API and how the answer
 * is printed. Parsing, help, completion and the manual page all read the row;
 * most commands have no function of their own.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/settings.h"
#include "http/exchange.h"

struct client;
struct client_local;
struct feature;
struct invocation;
struct login;
struct shape;

enum { COMMAND_ARGS_MAX = 2, COMMAND_GIVEN_MAX = 32 };

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum option_type {
    OPTION_TEXT,   /* anything */
    OPTION_NAME,   /* anything but the empty text */
    OPTION_TENANT, /* a tenant's slug */
    OPTION_NUMBER, /* a whole number from 1 on */
    OPTION_AMOUNT, /* a whole number, 0 too */
    OPTION_TIME,   /* a date-time */
    OPTION_WORD,   /* one of the words in `value` */
    OPTION_FILE,   /* the path of a file; only the command's own function reads it */
    OPTION_BODY,   /* the path of a file that is sent as the body */
    OPTION_FLAG,   /* takes no value */
};

/* One option, or one argument: an option's name stands after "--", an argument's in capitals. */
struct option {
    const char *name;
    enum option_type type;
    const char *value; /* as usage shows it, "a|b|c" for a choice; NULL: by type */
    const char *help;
    const char *field; /* its name in a body or query; NULL: `name` with '_' for '-'; "": none */
    bool required;     /* arguments always are */
    const char *needs; /* another option that must be given too; NULL: none */
};

#define OPTIONS(...)                                                                               \
    (const struct option[])                                                                        \
    {                                                                                              \
        __VA_ARGS__, { 0 }                                                                         \
    }

#define TENANT_OPTION                                                                              \
    { .name = "tenant", .type = OPTION_TENANT, .required = true, .help = "slug of the tenant" }

/* One column of a list: its title, and a template of what it says of an item (see template.h). */
struct column {
    const char *title, *cell;
    const char *(*cell_of)(const void *item); /* instead of `cell` */
};

#define COLUMNS(...)                                                                               \
    (const struct column[])                                                                        \
    {                                                                                              \
        __VA_ARGS__, { 0 }                                                                         \
    }

/* One row. Its table ends in a row of zeros. */
struct command {
    const char *noun, *verb; /* verb NULL: the noun alone */
    struct option args[COMMAND_ARGS_MAX];
    const struct option *options; /* ended by a row of zeros; NULL: none */
    const char *help;
    const char *examples; /* one or two command lines that work, a line each */
    bool shows_settings;  /* its help lists all settings */
    bool local_only;      /* works on the service's own files or database: refused with `server` */

    /* What it sends. The path is a template (see template.h) of arguments and options; their other
     * values go into the body by its shape, or without one into the query. */
    enum http_method method;
    const char *path;
    const struct shape *body;
    const char *body_text; /* instead of `body`: a constant text */
    int (*bind)(struct invocation *in, struct str *ret, struct error *err); /* instead: makes it */
    bool needs_change; /* at least one option that is not in the path must be given */

    /* How its answer is printed: once, or as a table of the items of `list`. See template.h. */
    const struct shape *answer; /* NULL: `line` names nothing of the answer */
    const struct shape *(*answer_of)(const struct invocation *in); /* instead: by the options */
    const char *list;
    const struct column *columns; /* with `list` */
    const char *line;
    const char *note; /* also a template, for standard error; nothing when it comes out empty */
    void (*say)(const void *answer); /* instead of `line` */
    const char *raw;                 /* instead of `line`: this member, as it is */
    const char *next;                /* query parameter for the answer's `next`, which asks for the
                                      * next page; appended with '&', so `path` must have a '?' */
    bool json_pages; /* --json prints all pages, one line per page; else the first */

    /* Instead of all that: does the command and returns an exit status. */
    int (*run)(struct invocation *in);
};

/* What the command line needs to know of the program it is the face of. */
struct program {
    const char *version;
    const struct feature *const *features; /* ends in NULL */
    const struct command *commands;        /* the program's own */
    const struct client_local *local;
    bool (*is_slug)(struct str s);
};

/* The value of an argument or option, by its row; "" for a flag. */
struct given {
    const struct option *option;
    const char *value;
};

/* A command line, taken apart and checked against the command's row. */
struct invocation {
    const struct program *program;
    const struct command *command;
    struct given given[COMMAND_GIVEN_MAX];
    size_t n_given;
    struct setting_flag settings_given[COMMAND_GIVEN_MAX];
    size_t n_settings_given;
    bool json;
    struct settings settings;
    struct arena arena;
    struct client *client;     /* NULL until something is sent */
    const struct login *login; /* that the client uses; NULL: none */
};

/* Parses the command line and runs the command it names; returns the exit status (run.c). */
int cli_run(const struct program *program, int argc, char **argv);

/* Every command, nouns in alphabetical order; in the arena, ended by NULL. */
const struct command **command_list(const struct program *program, struct arena *arena);

/* The value of an argument or option; NULL when it was not given. */
const char *command_value(const struct invocation *in, const char *name);

/* Prints the sentence on standard error. A wrong command line is ERR_INVALID and gives
 * EXIT_USAGE, everything else EXIT_FAILED. */
int command_fail(const struct error *err);
