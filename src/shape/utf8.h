/* utf8.h - UTF-8 one sequence at a time.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

/* Whether a well-formed sequence begins at `at` (before `end`). *ret_len is its length in bytes;
 * of an ill-formed one, that of the part to replace by a single U+FFFD. */
bool utf8_step(const char *at, const char *end, size_t *ret_len);

/* Code points in well-formed text. */
size_t utf8_count(struct str s);

/* At most `bytes_max` bytes of well-formed text, cut between two characters. */
struct str utf8_cut(struct str s, size_t bytes_max);

/* Where the first ill-formed sequence begins, or s.len. */
size_t utf8_valid_len(struct str s);
