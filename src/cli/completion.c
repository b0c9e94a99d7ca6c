/* completion.c - a script that lets bash complete our commands, printed from their table.
 *
 * What a flag or a name takes is told by the command's usage: FILE is a file,
 * and a|b|c is one of these words.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

/* The word after "--flag " in the usage, without brackets; empty when there is none. */
static struct str value_word(const struct command *c, struct str flag, struct arena *arena)
{
    const char *dashed = arena_printf(arena, "--%.*s ", STR_ARG(flag)).data;
    const char *at = strstr(c->usage, dashed);
    struct str rest = str_of(at == NULL ? "" : at + strlen(dashed)), word = str_split(&rest, ' ');

    while (word.len > 0 && word.data[word.len - 1] == ']')
        word.len--;
    return word;
}

static bool has_bar(struct str word)
{
    return memchr(word.data, '|', word.len) != NULL;
}

static bool is_file(struct str word)
{
    return str_starts(word, STR_LIT("FILE"));
}

/* The command as a pattern of `case`: "key add", or "backup "* for one without a verb. */
static const char *pattern(const struct command *c, struct arena *arena)
{
    if (c->verb == NULL)
        return arena_printf(arena, "\"%s \"*", c->noun).data;
    return arena_printf(arena, "\"%s %s\"", c->noun, c->verb).data;
}

/* Each noun once, with its verbs. */
static bool is_first_of_noun(size_t i)
{
    return i == 0 || strcmp(commands[i].noun, commands[i - 1].noun) != 0;
}

static void print_nouns(void)
{
    (void)fputs("    if ((COMP_CWORD == 1)); then\n        _muster_words \"help", stdout);
    for (size_t i = 0; i < n_commands; i++)
        if (is_first_of_noun(i))
            (void)printf(" %s", commands[i].noun);
    (void)fputs("\"\n        return\n    fi\n", stdout);
}

static void print_verbs(void)
{
    (void)fputs("    if ((COMP_CWORD == 2)); then\n        case $noun in\n", stdout);
    for (size_t i = 0; i < n_commands; i++) {
        if (!is_first_of_noun(i) || commands[i].verb == NULL)
            continue;
        (void)printf("        %s) _muster_words \"", commands[i].noun);
        for (size_t j = 0; j < n_commands; j++)
            if (strcmp(commands[i].noun, commands[j].noun) == 0)
                (void)printf("%s ", commands[j].verb);
        (void)fputs("--help\"; return ;;\n", stdout);
    }
    (void)fputs("        esac\n    fi\n", stdout);
}

/* What may follow a flag, where the usage tells. */
static void print_flag_values(const struct command *c, struct arena *arena)
{
    struct str rest = str_of(c->flags);

    while (rest.len > 0) {
        struct str flag = str_split(&rest, ' '), word = value_word(c, flag, arena);

        if (is_file(word)) {
            (void)printf("        [[ $prev == --%.*s ]] && { _muster_files; return; }\n",
                         STR_ARG(flag));
        } else if (word.len > 0 && has_bar(word)) {
            (void)printf("        [[ $prev == --%.*s ]] && { _muster_words \"", STR_ARG(flag));
            while (!str_is_null(word)) {
                struct str choice = str_split(&word, '|');

                (void)printf("%.*s ", STR_ARG(choice));
            }
            (void)fputs("\"; return; }\n", stdout);
        }
    }
}

/* The flags themselves; those that end in '!' take no value. */
static void print_flags(const struct command *c)
{
    struct str rest = str_of(c->flags);

    (void)fputs("        flags=\"", stdout);
    while (rest.len > 0) {
        struct str flag = str_split(&rest, ' ');
        bool is_switch = flag.len > 0 && flag.data[flag.len - 1] == '!';

        (void)printf("--%.*s ", (int)(flag.len - is_switch), flag.data);
    }
    (void)fputs("\" valued=\"", stdout);
    rest = str_of(c->flags);
    while (rest.len > 0) {
        struct str flag = str_split(&rest, ' ');

        if (flag.data[flag.len - 1] != '!')
            (void)printf("--%.*s ", STR_ARG(flag));
    }
    (void)fputs("\"\n", stdout);
}

static void print_commands(struct arena *arena)
{
    (void)fputs("    case \"$noun $verb\" in\n", stdout);
    for (size_t i = 0; i < n_commands; i++) {
        const struct command *c = &commands[i];

        (void)printf("    %s)\n", pattern(c, arena));
        print_flag_values(c, arena);
        print_flags(c);
        if (is_file(str_of(c->usage)))
            (void)fputs("        files=yes\n", stdout);
        if (c->run == run_completion)
            (void)fputs("        words=bash\n", stdout);
        (void)fputs("        ;;\n", stdout);
    }
    (void)fputs("    esac\n", stdout);
}

static void print_settings_flags(void)
{
    (void)fputs("    settings=\"", stdout);
    for (size_t i = 0; i < n_settings; i++) {
        (void)fputs("--", stdout);
        for (const char *at = settings_table[i].name; *at != '\0'; at++)
            (void)putchar(*at == '_' ? '-' : *at);
        (void)putchar(' ');
    }
    (void)fputs("\"\n", stdout);
}

static const char *const head =
    "# Completion of muster for bash. To have it now: source <(muster completion bash)\n"
    "# To have it always: muster completion bash > /etc/bash_completion.d/muster\n\n"
    "_muster_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n\n"
    "_muster_files()\n{\n"
    "    compopt -o filenames 2> /dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n}\n\n"
    "_muster()\n{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local noun=${COMP_WORDS[1]} verb=${COMP_WORDS[2]}\n"
    "    local flags= valued= files= words= settings=\n"
    "    COMPREPLY=()\n";

static const char *const tail =
    "    case $prev in\n"
    "    --data | --config) _muster_files; return ;;\n"
    "    --log-level) _muster_words \"debug info warning error off\"; return ;;\n"
    "    esac\n"
    "    [[ $prev == --* && \" $valued$settings\" == *\" $prev \"* ]] && return\n"
    "    if [[ $cur == -* || -z $files$words ]]; then\n"
    "        _muster_words \"$flags$settings--json --help\"\n"
    "    elif [[ -n $files ]]; then\n"
    "        _muster_files\n"
    "    else\n"
    "        _muster_words \"$words\"\n"
    "    fi\n}\n\n"
    "complete -F _muster muster\n";

int run_completion(struct invocation *in)
{
    struct error err = { 0 };

    if (strcmp(in->names[0], "bash") != 0) {
        err_set(&err, ERR_INVALID, "there is completion for bash, and none for '%s'", in->names[0]);
        return command_fail(&err);
    }
    (void)fputs(head, stdout);
    print_settings_flags();
    print_nouns();
    print_verbs();
    print_commands(&in->arena);
    (void)fputs(tail, stdout);
    return EXIT_DONE;
}
