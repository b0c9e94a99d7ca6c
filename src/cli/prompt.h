/* prompt.h - secrets from standard input or the terminal, typed without echo. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* On a terminal asks `question` and reads a line; otherwise reads all of standard input. Without
 * one newline at its end; at most `bytes_max`. In the arena. */
int prompt_secret(const char *question, size_t bytes_max, struct arena *arena, struct str *ret,
                  struct error *err) MUST_CHECK;

/* The same for a line that is not secret and may be seen. */
int prompt_line(const char *question, size_t bytes_max, struct arena *arena, struct str *ret,
                struct error *err) MUST_CHECK;

/* A line that may be seen, always from the terminal of the process; without one, an error that
 * names the option to use. In the arena. ERR_INVALID. */
int prompt_terminal(const char *question, const char *option, struct arena *arena, struct str *ret,
                    struct error *err) MUST_CHECK;

/* The password that a user has: the first line of standard input, or asked for once, without echo,
 * on the terminal of the process. In the arena. ERR_INVALID. */
int prompt_current_password(bool from_stdin, struct arena *arena, struct str *ret,
                            struct error *err) MUST_CHECK;

/* A new password: the first line of standard input, or asked for twice on the terminal of the
 * process. In the arena. ERR_INVALID. */
int prompt_password(bool from_stdin, struct arena *arena, struct str *ret,
                    struct error *err) MUST_CHECK;
