/* json_write.h - values and numbers as compact JSON text.
 *
 * Numbers are spelled as Python does: integers plainly (-0 is 0), reals with
 * the fewest digits that read back the same (1.0, 1e+16, 1e-05).
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum { JSON_REAL_MAX = 32 };

/* Writes a finite number and returns its length, without NUL. */
size_t json_write_real(double value, char text[JSON_REAL_MAX]);

/* Infinities and NaN are written as null. */
void json_add_real(struct buf *out, double value);

/* The whole value, in the arena. With `plain` no string in it needs escaping. */
struct str json_write_text(yyjson_val *value, bool plain, struct arena *arena);

/* The same, or STR_NULL when it is longer than `max` bytes; memory is in proportion to `max`. */
struct str json_write_short_text(yyjson_val *value, size_t max, struct arena *arena);
