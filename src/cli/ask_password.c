/* ask_password.c - reading a password without showing it. */
#include "cli/ask_password.h"

#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "cli/command.h"

enum { LINE_BYTES = 4098 };

/* One line without its end. */
static int read_line(FILE *from, struct invocation *in, struct str *ret, struct error *err)
{
    char line[LINE_BYTES];
    size_t n;

    if (fgets(line, sizeof(line), from) == NULL) {
        err_set(err, ERR_INVALID, "there is no password to read");
        return -1;
    }
    n = strlen(line);
    if (n > 0 && line[n - 1] == '\n')
        n--;
    else if (n == sizeof(line) - 1)
        return err_set(err, ERR_INVALID, "the password is too long");
    *ret = arena_copy(&in->arena, str_from(line, n));
    explicit_bzero(line, sizeof(line));
    return 0;
}

static int ask_once(FILE *terminal, const char *question, struct invocation *in, struct str *ret,
                    struct error *err)
{
    int r;

    (void)dprintf(fileno(terminal), "%s", question);
    r = read_line(terminal, in, ret, err);
    (void)dprintf(fileno(terminal), "\n");
    return r;
}

static int ask_twice(FILE *terminal, struct invocation *in, struct str *ret, struct error *err)
{
    struct str again = STR_NULL;

    if (ask_once(terminal, "New password: ", in, ret, err) != 0 ||
        ask_once(terminal, "Again: ", in, &again, err) != 0)
        return -1;
    if (!str_eq(*ret, again))
        return err_set(err, ERR_INVALID, "the two passwords differ");
    return 0;
}

int ask_password(struct invocation *in, struct str *ret, struct error *err)
{
    struct termios shown, hidden;
    FILE *terminal;
    int r;

    if (command_flag(in, "password-stdin") != NULL)
        return read_line(stdin, in, ret, err);
    terminal = fopen("/dev/tty", "r+e");
    if (terminal == NULL || tcgetattr(fileno(terminal), &shown) != 0) {
        if (terminal != NULL)
            (void)fclose(terminal);
        return err_set(err, ERR_INVALID,
                       "there is no terminal to ask for the password: use --password-stdin");
    }
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    (void)tcsetattr(fileno(terminal), TCSAFLUSH, &hidden);
    r = ask_twice(terminal, in, ret, err);
    (void)tcsetattr(fileno(terminal), TCSAFLUSH, &shown);
    (void)fclose(terminal);
    return r;
}
