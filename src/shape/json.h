/* json.h - JSON text to values, by the rules for every body; and values as text.
 *
 * On top of yyjson: at most JSON_DEPTH_MAX levels; of members with the same
 * name the last value takes the place of the first; numbers beyond 64 bits
 * arrive as raw text; and errors have the words and the position that the
 * contract's 422 requires.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum { JSON_DEPTH_MAX = 64 }; /* the outermost value counts as 1 */

struct json_doc {
    yyjson_val *root; /* in the arena, strings too */
    bool plain;       /* no string needs escaping or holds NUL */
    bool bignums;     /* some number is raw: json_is_raw_real(), json_raw_to_real() */
};

struct json_fault {
    const char *error; /* a constant phrase */
    size_t at;         /* code points from 0, without a BOM */
};

/* A lone surrogate escape is read as NUL, which no field accepts either. */
int json_read(struct str text, struct arena *arena, struct json_doc *ret,
              struct json_fault *fault) MUST_CHECK;

/* A text that we wrote ourselves, by yyjson's own rules: yyjson_doc_free() it. NULL: it is not
 * JSON, never that memory was short. */
yyjson_doc *json_read_stored(struct str text) MUST_CHECK;

/* A raw number with fraction or exponent, which is beyond the range of double. */
bool json_is_raw_real(yyjson_val *value);

/* A raw integer as the nearest double; infinite when it is out of range. */
double json_raw_to_real(yyjson_val *value);

/* Compact JSON text; a number has the fewest digits that read back the same. Infinities and NaN are
 * written as null. */
void json_add_real(struct buf *out, double value);

/* The whole value, in the arena. */
struct str json_write_text(yyjson_val *value, struct arena *arena);

/* The same, or STR_NULL when it is longer than `max` bytes; memory is in proportion to `max`. */
struct str json_write_short_text(yyjson_val *value, size_t max, struct arena *arena);

/* The member's or element's string value, borrowed. */
static inline struct str json_str(yyjson_val *value)
{
    return str_from(unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value));
}
