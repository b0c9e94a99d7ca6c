/* config_type.h - the types of configuration parameters.
 *
 * Values are stored as text. The declaration's value_type says how to read
 * them; an unknown type is a string.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"

/* string, integer, number, boolean, json or list. */
bool config_type_is_known(struct str value_type);

/* Is the text a valid value of this type? The arena is for temporary data. */
bool config_type_fits(struct str value_type, struct str text, struct arena *arena);

/* Appends the text as a JSON value of this type: integers without decimals (5.0 as 5), the rest
 * compact. False, and nothing appended, when the text is not valid. The arena is for temporary
 * data. */
bool config_type_write(struct str value_type, struct str text, struct arena *arena,
                       struct buf *out) MUST_CHECK;
