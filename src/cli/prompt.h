/* prompt.h - secrets from standard input or the terminal, typed without echo. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* On a terminal asks `question` and reads a line, without echo if `hidden`; otherwise reads all of
 * standard input. Without one newline at its end; at most `bytes_max`. In the arena. */
int prompt_input(const char *question, bool hidden, size_t bytes_max, struct arena *arena,
                 struct str *ret, struct error *err) MUST_CHECK;

/* A line that may be seen, always from the terminal of the process; without one, an error that
 * names the option to use. In the arena. ERR_INVALID. */
int prompt_terminal(const char *question, const char *option, struct arena *arena, struct str *ret,
                    struct error *err) MUST_CHECK;

/* A password: the first line of standard input, or asked for on the terminal of the process without
 * echo, a new one twice. In the arena. ERR_INVALID. */
int prompt_password(bool from_stdin, bool is_new, struct arena *arena, struct str *ret,
                    struct error *err) MUST_CHECK;
