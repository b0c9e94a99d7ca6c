/* completion.c - a script that lets bash and zsh complete our commands, printed from their rows. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"

static bool takes_file(const struct option *option)
{
    return option->type == OPTION_FILE || option->type == OPTION_BODY;
}

/* The choices of an option or argument as blank-separated words; "" when it takes anything. */
static const char *choices(const struct option *option, struct arena *arena)
{
    const char *value = help_value(option);
    char *words = arena_alloc(arena, strlen(value) + 1);

    if (option->type != OPTION_WORD && strchr(value, '|') == NULL)
        return "";
    for (size_t i = 0; i <= strlen(value); i++)
        words[i] = (char)(value[i] == '|' ? ' ' : value[i]);
    return words;
}

static void print_nouns(const struct command **list, struct arena *arena)
{
    struct str rest = str_of(help_verbs(list, NULL, arena));

    (void)fputs("    if ((COMP_CWORD == 1)); then\n        _muster_words \"help", stdout);
    while (rest.len > 0) {
        struct str noun = str_trim(str_split(&rest, ','));

        (void)printf(" %.*s", STR_ARG(noun));
    }
    (void)fputs("\"\n        return\n    fi\n", stdout);
}

static void print_verbs(const struct command **list)
{
    (void)fputs("    if ((COMP_CWORD == 2)); then\n        case $noun in\n", stdout);
    for (const struct command **c = list; *c != NULL; c++) {
        const bool is_first = c == list || strcmp(c[-1]->noun, c[0]->noun) != 0;
        const bool is_last = c[1] == NULL || strcmp(c[1]->noun, c[0]->noun) != 0;

        if ((*c)->verb == NULL)
            continue;
        if (is_first)
            (void)printf("        %s) _muster_words \"", (*c)->noun);
        (void)printf("%s ", (*c)->verb);
        if (is_last)
            (void)fputs("--help\"; return ;;\n", stdout);
    }
    (void)fputs("        esac\n    fi\n", stdout);
}

/* What may follow an option, where its row says. */
static void print_values(const struct option *o, struct arena *arena)
{
    const char *words = choices(o, arena);

    if (takes_file(o))
        (void)printf("        [[ $prev == --%s ]] && { _muster_files; return; }\n", o->name);
    else if (words[0] != '\0')
        (void)printf("        [[ $prev == --%s ]] && { _muster_words \"%s\"; return; }\n", o->name,
                     words);
}

static void print_names(const struct command *c, bool valued)
{
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        if (!valued || o->type != OPTION_FLAG)
            (void)printf("--%s ", o->name);
}

/* A case: "key add", or "backup "* for a command without a verb. */
static void print_command(const struct command *c, struct arena *arena)
{
    (void)printf(c->verb == NULL ? "    \"%s \"*%s)\n" : "    \"%s %s\")\n", c->noun,
                 c->verb == NULL ? "" : c->verb);
    for (const struct option *o = c->options; o != NULL && o->name != NULL; o++)
        print_values(o, arena);
    (void)fputs("        flags=\"", stdout);
    print_names(c, false);
    (void)fputs("\" valued=\"", stdout);
    print_names(c, true);
    (void)fputs("\"\n", stdout);
    if (c->args[0].name != NULL)
        (void)printf("        files=%s choices=\"%s\"\n", takes_file(&c->args[0]) ? "yes" : "",
                     choices(&c->args[0], arena));
    (void)fputs("        ;;\n", stdout);
}

static void print_settings_flags(void)
{
    char flag[SETTING_NAME_MAX];

    (void)fputs("    settings=\"", stdout);
    for (size_t i = 0; i < n_settings; i++) {
        settings_spell(&settings_table[i], false, flag);
        (void)printf("--%s ", flag);
    }
    (void)fputs("\"\n", stdout);
}

/* zsh runs the functions of bash, once it is asked to. */
static const char *const zsh_head =
    "# Completion of muster for zsh. In ~/.zshrc: source <(muster completion zsh)\n\n"
    "autoload -Uz compinit bashcompinit\n"
    "(( $+functions[compdef] )) || compinit\n"
    "bashcompinit\n\n";

static const char *const bash_head =
    "# Completion of muster for bash. For this shell: source <(muster completion bash)\n"
    "# For every shell: muster completion bash > /etc/bash_completion.d/muster\n\n";

/* In words of both shells: zsh has no mapfile, no compopt, and a `words` of its own. */
static const char *const head =
    "_muster_lines()\n{\n"
    "    local line\n"
    "    while IFS= read -r line; do\n"
    "        [[ -z $line ]] || COMPREPLY+=(\"$line\")\n"
    "    done <<< \"$1\"\n}\n\n"
    "_muster_words() { _muster_lines \"$(compgen -W \"$1\" -- \"$cur\")\"; }\n\n"
    "_muster_files()\n{\n"
    "    compopt -o filenames 2> /dev/null\n"
    "    _muster_lines \"$(compgen -f -- \"$cur\")\"\n}\n\n"
    "_muster()\n{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local noun=${COMP_WORDS[1]} verb=${COMP_WORDS[2]}\n"
    "    local flags= valued= files= choices= settings=\n"
    "    COMPREPLY=()\n";

static const char *const tail =
    "    case $prev in\n"
    "    --data | --config) _muster_files; return ;;\n"
    "    --log-level) _muster_words \"debug info warning error off\"; return ;;\n"
    "    esac\n"
    "    [[ $prev == --* && \" $valued$settings\" == *\" $prev \"* ]] && return\n"
    "    if [[ $cur == -* || -z $files$choices ]]; then\n"
    "        _muster_words \"$flags$settings--json --help\"\n"
    "    elif [[ -n $files ]]; then\n"
    "        _muster_files\n"
    "    else\n"
    "        _muster_words \"$choices\"\n"
    "    fi\n}\n\n"
    "complete -F _muster muster\n";

int completion_run(struct invocation *in)
{
    const struct command **list = command_list(in->program, &in->arena);
    const bool is_zsh = strcmp(command_value(in, "shell"), "zsh") == 0;

    (void)fputs(is_zsh ? zsh_head : bash_head, stdout);
    (void)fputs(head, stdout);
    print_settings_flags();
    print_nouns(list, &in->arena);
    print_verbs(list);
    (void)fputs("    case \"$noun $verb\" in\n", stdout);
    for (; *list != NULL; list++)
        print_command(*list, &in->arena);
    (void)fputs("    esac\n", stdout);
    (void)fputs(tail, stdout);
    return EXIT_DONE;
}
