/* prompt.h - a secret from standard input: typed unseen, or read to its end. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* On a terminal asks `question` and does not show what is typed; else takes all of standard input.
 * Without one newline at its end; at most `bytes_max`. In the arena. */
int prompt_secret(const char *question, size_t bytes_max, struct arena *arena, struct str *ret,
                  struct error *err) MUST_CHECK;
