/* str.h - borrowed bytes with a length.
 *
 * A `struct str` owns nothing: the bytes live as long as their creator says. The
 * bytes need not end in NUL. `data == NULL` means "no string" (JSON null) and
 * differs from the empty one: str_is_null().
 *
 * Thread-safe: values only.
 */
#pragma once
#include <stdbool.h>
#include <string.h>

#include "base/base.h"

struct str {
    const char *data;
    size_t len;
};

/* A literal as a str, also in static initialisers with STR_INIT. */
#define STR_INIT(literal) { (literal), sizeof(literal) - 1 }
#define STR_LIT(literal)  ((struct str)STR_INIT(literal))
#define STR_NULL          ((struct str){ NULL, 0 })

/* For printf: printf("%.*s", STR_ARG(s)) of a struct str or a struct buf. `s` is evaluated more
 * than once and so must be an object: STR_ARG(f()) does not compile. */
#define STR_ARG(s) (int)(&(s))->len, (&(s))->data == NULL ? "" : (&(s))->data

static inline struct str str_of(const char *text)
{
    return (struct str){ text, text == NULL ? 0 : strlen(text) };
}

static inline struct str str_from(const char *data, size_t len)
{
    return (struct str){ data, len };
}

static inline bool str_is_null(struct str s)
{
    return s.data == NULL;
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool str_eq_c(struct str a, const char *b)
{
    return str_eq(a, str_of(b));
}

/* Is it one of the names, of which NULL ends the list? */
bool str_is_one_of(struct str s, const char *const *names);

/* ASCII letters compare equal whatever their case; no locale. */
bool str_eq_nocase(struct str a, struct str b);

bool str_starts(struct str s, struct str prefix);

/* <0, 0, >0 by bytes, the shorter first among equals. */
int str_cmp(struct str a, struct str b);

/* Cuts `*rest` at the first `separator`: returns what stood before it and leaves what follows.
 * Without one, returns all and leaves STR_NULL. */
struct str str_split(struct str *rest, char separator);

/* Cuts `c`, or a number of at most four digits, off the front: false when that is not there, or
 * when the number exceeds `max`. */
bool str_take(struct str *s, char c);
bool str_take_number(struct str *s, int max, int *ret);

/* Without leading and trailing spaces and tabs. */
struct str str_trim(struct str s);

/* The whole of `s` as a decimal integer, digits with an optional '-'; false when it is not one or
 * does not fit. */
bool str_to_int(struct str s, int64_t *ret);

/* The value of a hexadecimal digit in either case, or -1. */
int str_hex_digit(char c);

/* UTF-8 */

/* Whether a well-formed sequence begins at `at` (before `end`). *ret_len is its length in bytes;
 * of an ill-formed one, that of the part to replace by a single U+FFFD. */
bool utf8_step(const char *at, const char *end, size_t *ret_len);

/* Code points in well-formed text. */
size_t utf8_count(struct str s);

/* At most `bytes_max` bytes of well-formed text, cut between two characters. */
struct str utf8_cut(struct str s, size_t bytes_max);

/* Where the first ill-formed sequence begins, or s.len. */
size_t utf8_valid_len(struct str s);
