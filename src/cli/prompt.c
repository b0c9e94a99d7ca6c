/* prompt.c - reading secrets without showing them. */
#include "cli/prompt.h"

#include <fcntl.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

enum { PASSWORD_MAX_BYTES = 4096, LINE_MAX_BYTES = 4096 };

/* Up to the end of the line, or up to the end. */
static size_t read_bytes(int fd, char *bytes, size_t bytes_max, bool one_line)
{
    size_t n = 0;
    ssize_t got;

    /* byte by byte, so that what follows the line is left for others */
    while (n < bytes_max && (got = read(fd, bytes + n, one_line ? 1 : bytes_max - n)) > 0) {
        n += (size_t)got;
        if (one_line && bytes[n - 1] == '\n')
            break;
    }
    return n;
}

/* Stops the echo of the terminal `fd`; returns its settings as they were. */
static struct termios hide_input(int fd)
{
    struct termios shown, hidden;

    (void)tcgetattr(fd, &shown);
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    (void)tcsetattr(fd, TCSAFLUSH, &hidden);
    return shown;
}

/* Asks on the terminal `fd`, whose input is hidden, and reads a line. */
static size_t ask(int fd, const char *question, char *bytes, size_t bytes_max)
{
    const int out = fd == STDIN_FILENO ? STDERR_FILENO : fd;
    size_t n;

    (void)dprintf(out, "%s: ", question);
    n = read_bytes(fd, bytes, bytes_max, true);
    (void)dprintf(out, "\n");
    return n;
}

/* Without one newline at its end. */
static struct str trim_newline(const char *bytes, size_t n)
{
    return str_from(bytes, n > 0 && bytes[n - 1] == '\n' ? n - 1 : n);
}

int prompt_input(const char *question, bool hidden, size_t bytes_max, struct arena *arena,
                 struct str *ret, struct error *err)
{
    const bool is_terminal = isatty(STDIN_FILENO) == 1;
    char *bytes = arena_alloc(arena, bytes_max + 2);
    struct termios shown = { 0 };
    size_t n;

    if (is_terminal && hidden)
        shown = hide_input(STDIN_FILENO);
    n = is_terminal ? ask(STDIN_FILENO, question, bytes, bytes_max + 2)
                    : read_bytes(STDIN_FILENO, bytes, bytes_max + 2, false);
    if (is_terminal && hidden)
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    *ret = trim_newline(bytes, n);
    if (ret->len > bytes_max)
        return err_set(err, ERR_FORBIDDEN, "the value is too long: at most %zu bytes are accepted",
                       bytes_max);
    return ret->len > 0 ? 0 : err_set(err, ERR_FORBIDDEN, "standard input is empty");
}

/* From the terminal `fd`, or for -1 a line of standard input. */
static int read_password(int fd, const char *question, struct arena *arena, struct str *ret,
                         struct error *err)
{
    const size_t room = PASSWORD_MAX_BYTES + 2;
    char *bytes = arena_alloc(arena, room);
    size_t n =
        fd >= 0 ? ask(fd, question, bytes, room) : read_bytes(STDIN_FILENO, bytes, room, true);
    struct str password = trim_newline(bytes, n);

    if (n == 0)
        return err_set(err, ERR_INVALID, "no password given");
    if (password.len > PASSWORD_MAX_BYTES)
        return err_set(err, ERR_INVALID, "the password is too long");
    *ret = password;
    return 0;
}

int prompt_terminal(const char *question, const char *option, struct arena *arena, struct str *ret,
                    struct error *err)
{
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    char *bytes = arena_alloc(arena, LINE_MAX_BYTES);
    size_t n;

    if (terminal < 0)
        return err_set(err, ERR_INVALID, "no terminal to ask for '%s': use --%s", question, option);
    (void)dprintf(terminal, "%s: ", question);
    n = read_bytes(terminal, bytes, LINE_MAX_BYTES, true);
    (void)close(terminal);
    *ret = str_trim(trim_newline(bytes, n));
    return ret->len > 0 && n < LINE_MAX_BYTES ? 0 : err_set(err, ERR_INVALID, "nothing given");
}

int prompt_password(bool from_stdin, bool is_new, struct arena *arena, struct str *ret,
                    struct error *err)
{
    struct termios shown;
    struct str again = STR_NULL;
    int terminal, r;

    if (from_stdin)
        return read_password(-1, NULL, arena, ret, err);
    terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0)
        return err_set(err, ERR_INVALID,
                       "no terminal to ask for the password: use --password-stdin");
    shown = hide_input(terminal); /* once for both: the second may have been typed already */
    r = read_password(terminal, is_new ? "New password" : "Password", arena, ret, err);
    if (r == 0 && is_new)
        r = read_password(terminal, "Again", arena, &again, err);
    if (r == 0 && is_new && !str_eq(*ret, again))
        r = err_set(err, ERR_INVALID, "the two passwords differ");
    (void)tcsetattr(terminal, TCSAFLUSH, &shown);
    (void)close(terminal);
    return r;
}
