/* main.c - from a command line to a command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/digest.h"
#include "cli/command.h"
#include "cli/help.h"
#include "features/vault/keyring.h"

static bool is_command(const struct command *c, int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], c->noun) != 0)
        return false;
    return c->verb == NULL || (argc > 2 && strcmp(argv[2], c->verb) == 0);
}

static const struct command *find_command(int argc, char **argv)
{
    for (size_t i = 0; i < n_commands; i++)
        if (is_command(&commands[i], argc, argv))
            return &commands[i];
    return NULL;
}

static int wrong_usage(const struct command *c, const char *what, const char *which)
{
    (void)fprintf(stderr, "muster: %s '%s'\nusage: ", what, which);
    help_usage(stderr, c);
    return -1;
}

/* Is `flag` one of the blank-separated words? */
static bool is_listed(const char *words, const char *flag)
{
    struct str rest = str_of(words);

    while (!str_is_null(rest))
        if (str_eq_c(str_split(&rest, ' '), flag))
            return true;
    return false;
}

/* A flag that takes no value is listed with a mark. */
static bool is_switch(struct invocation *in, const char *flag)
{
    return is_listed(in->command->flags, arena_printf(&in->arena, "%s!", flag).data);
}

/* A flag whose value an unset variable of a script must not leave empty. */
static bool names_somebody(const char *flag)
{
    return strcmp(flag, "agent") == 0 || strcmp(flag, "tenant") == 0;
}

/* Of "--flag=value" what follows the sign, else the next argument. */
static const char *value_of(char **args, const char *equals)
{
    return equals != NULL ? equals + 1 : args[1];
}

/* One argument that begins with "--", and perhaps its value: returns how many were taken, or -1. */
static int take_flag(struct invocation *in, int n, char **args, struct setting_flag *settings,
                     size_t *n_settings_given)
{
    const char *name = args[0] + 2, *equals = strchr(name, '=');
    const char *flag = arena_cstr(
        &in->arena, str_from(name, equals != NULL ? (size_t)(equals - name) : strlen(name)));
    bool own = is_listed(in->command->flags, flag);

    if (strcmp(flag, "json") == 0 && equals == NULL) {
        in->json = true;
        return 1;
    }
    if (equals == NULL && in->n_flags < COMMAND_FLAGS_MAX && is_switch(in, flag)) {
        in->flags[in->n_flags++] = (struct setting_flag){ flag, "" };
        return 1;
    }
    if (flag[0] == '\0' || (!own && settings_find_flag(flag) == NULL))
        return wrong_usage(in->command, "there is no flag", args[0]);
    if ((equals == NULL && n < 2) || (names_somebody(flag) && value_of(args, equals)[0] == '\0'))
        return wrong_usage(in->command, "a value is missing after", args[0]);
    if (in->n_flags == COMMAND_FLAGS_MAX || *n_settings_given == COMMAND_FLAGS_MAX)
        return wrong_usage(in->command, "too many flags at", args[0]);
    if (own)
        in->flags[in->n_flags++] = (struct setting_flag){ flag, value_of(args, equals) };
    else
        settings[(*n_settings_given)++] = (struct setting_flag){ flag, value_of(args, equals) };
    return equals != NULL ? 1 : 2;
}

/* Fills names, flags and settings; -1 after saying what is wrong. */
static int take_arguments(struct invocation *in, int argc, char **argv)
{
    struct setting_flag settings[COMMAND_FLAGS_MAX];
    size_t n_given = 0;
    struct error err = { 0 };

    for (int i = in->command->verb == NULL ? 2 : 3; i < argc;) {
        if (strncmp(argv[i], "--", 2) == 0) {
            int taken = take_flag(in, argc - i, argv + i, settings, &n_given);

            if (taken < 0)
                return -1;
            i += taken;
        } else if (in->n_names < in->command->n_names) {
            in->names[in->n_names++] = argv[i++];
        } else {
            return wrong_usage(in->command, "unexpected", argv[i]);
        }
    }
    if (in->n_names < in->command->n_names)
        return wrong_usage(in->command, "something is missing:", in->command->usage);
    if (settings_read(settings, n_given, &in->arena, &in->settings, &err) != 0)
        return (void)command_fail(&err), -1;
    return 0;
}

static bool asks_for_help(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "help") == 0)
        return true;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0)
            return true;
    return false;
}

/* The command that is named, else the noun, else all. */
static int print_help(int argc, char **argv)
{
    const struct command *c;

    if (argc > 2 && strcmp(argv[1], "help") == 0) {
        argc--;
        argv++;
    }
    c = find_command(argc, argv);
    if (c != NULL)
        help_command(stdout, c);
    else if (argc < 2 || !help_noun(stdout, argv[1]))
        help_all(stdout);
    return EXIT_DONE;
}

static bool is_noun(const char *word)
{
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(commands[i].noun, word) == 0)
            return true;
    return false;
}

static int unknown_command(int argc, char **argv)
{
    if (argc == 2 && is_noun(argv[1])) {
        (void)fprintf(stderr, "muster: what is to be done with '%s' is missing\n", argv[1]);
        (void)help_noun(stderr, argv[1]);
    } else if (argc < 2)
        (void)fputs("muster: a command is missing; `muster help` lists them\n", stderr);
    else
        (void)fprintf(stderr, "muster: there is no command '%s%s%s'; `muster help` lists them\n",
                      argv[1], argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
    return EXIT_USAGE;
}

/* Secrets pass through this process: nobody else is to look into it, nor at what a crash leaves.
 * It is no reason not to run where the system does not let us. */
static void hide_memory(void)
{
    const struct rlimit none = { 0, 0 };

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
}

int main(int argc, char **argv)
{
    struct invocation in = { .command = find_command(argc, argv) };
    struct error err = { 0 };
    int status = EXIT_USAGE;

    hide_memory();
    digest_init();
    if (keyring_take_variable(&err) != 0)
        return command_fail(&err);
    if (asks_for_help(argc, argv))
        return print_help(argc, argv);
    if (in.command == NULL)
        return unknown_command(argc, argv);
    arena_init(&in.arena);
    if (take_arguments(&in, argc, argv) == 0)
        status = in.command->run(&in);
    arena_done(&in.arena);
    return status;
}
