/* prompt.c - reading secrets without showing them. */
#include "cli/prompt.h"

#include <fcntl.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

enum { PASSWORD_MAX_BYTES = 4096, LINE_MAX_BYTES = 4096 };

#define NO_TERMINAL "no terminal to ask for the password: use --password-stdin"

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

/* The same for one question alone. */
static size_t ask_hidden(int fd, const char *question, char *bytes, size_t bytes_max)
{
    const struct termios shown = hide_input(fd);
    size_t n = ask(fd, question, bytes, bytes_max);

    (void)tcsetattr(fd, TCSAFLUSH, &shown);
    return n;
}

/* Without one newline at its end. */
static struct str trim_newline(const char *bytes, size_t n)
{
    return str_from(bytes, n > 0 && bytes[n - 1] == '\n' ? n - 1 : n);
}

typedef size_t ask_fn(int fd, const char *question, char *bytes, size_t bytes_max);

static int prompt(ask_fn *ask_terminal, const char *question, size_t bytes_max, struct arena *arena,
                  struct str *ret, struct error *err)
{
    char *bytes = arena_alloc(arena, bytes_max + 2);
    bool is_terminal = isatty(STDIN_FILENO) == 1;
    size_t n = is_terminal ? ask_terminal(STDIN_FILENO, question, bytes, bytes_max + 2)
                           : read_bytes(STDIN_FILENO, bytes, bytes_max + 2, false);
    struct str text = trim_newline(bytes, n);

    if (text.len > bytes_max)
        return err_set(err, ERR_FORBIDDEN, "the value is too long: at most %zu bytes are accepted",
                       bytes_max);
    if (text.len == 0)
        return err_set(err, ERR_FORBIDDEN, "standard input is empty");
    *ret = text;
    return 0;
}

int prompt_secret(const char *question, size_t bytes_max, struct arena *arena, struct str *ret,
                  struct error *err)
{
    return prompt(ask_hidden, question, bytes_max, arena, ret, err);
}

int prompt_line(const char *question, size_t bytes_max, struct arena *arena, struct str *ret,
                struct error *err)
{
    return prompt(ask, question, bytes_max, arena, ret, err);
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

int prompt_current_password(bool from_stdin, struct arena *arena, struct str *ret,
                            struct error *err)
{
    struct termios shown;
    int terminal, r;

    if (from_stdin)
        return read_password(-1, NULL, arena, ret, err);
    terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0)
        return err_set(err, ERR_INVALID, NO_TERMINAL);
    shown = hide_input(terminal);
    r = read_password(terminal, "Password", arena, ret, err);
    (void)tcsetattr(terminal, TCSAFLUSH, &shown);
    (void)close(terminal);
    return r;
}

int prompt_password(bool from_stdin, struct arena *arena, struct str *ret, struct error *err)
{
    struct str first = STR_NULL, again = STR_NULL;
    struct termios shown;
    int terminal, r = -1;

    if (from_stdin)
        return read_password(-1, NULL, arena, ret, err);
    terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0)
        return err_set(err, ERR_INVALID, NO_TERMINAL);
    shown = hide_input(terminal); /* once for both: the second may have been typed already */
    if (read_password(terminal, "New password", arena, &first, err) == 0 &&
        read_password(terminal, "Again", arena, &again, err) == 0)
        r = str_eq(first, again) ? 0 : err_set(err, ERR_INVALID, "the two passwords differ");
    (void)tcsetattr(terminal, TCSAFLUSH, &shown);
    (void)close(terminal);
    *ret = first;
    return r;
}
