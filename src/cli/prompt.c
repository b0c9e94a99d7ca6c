/* prompt.c - a secret from standard input. */
#include "cli/prompt.h"

#include <stdbool.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

/* Up to the end of the line on a terminal, else up to the end. */
static size_t read_all(char *bytes, size_t bytes_max, bool one_line)
{
    size_t n = 0;
    ssize_t got;

    while (n < bytes_max && (got = read(STDIN_FILENO, bytes + n, bytes_max - n)) > 0) {
        n += (size_t)got;
        if (one_line && bytes[n - 1] == '\n')
            break;
    }
    return n;
}

static size_t ask(const char *question, char *bytes, size_t bytes_max)
{
    struct termios shown, hidden;
    bool is_terminal = tcgetattr(STDIN_FILENO, &shown) == 0;
    size_t n;

    if (!is_terminal)
        return read_all(bytes, bytes_max, false);
    (void)fprintf(stderr, "%s: ", question);
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    n = read_all(bytes, bytes_max, true);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    (void)fputc('\n', stderr);
    return n;
}

int prompt_secret(const char *question, size_t bytes_max, struct arena *arena, struct str *ret,
                  struct error *err)
{
    char *bytes = arena_alloc(arena, bytes_max + 2);
    size_t n = ask(question, bytes, bytes_max + 2);

    if (n > 0 && bytes[n - 1] == '\n')
        n--;
    if (n > bytes_max)
        return err_set(err, ERR_FORBIDDEN, "that is too long: at most %zu bytes are taken",
                       bytes_max);
    if (n == 0)
        return err_set(err, ERR_FORBIDDEN, "nothing was given on standard input");
    *ret = str_from(bytes, n);
    return 0;
}
