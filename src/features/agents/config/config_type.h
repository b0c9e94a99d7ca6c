/* config_type.h - the types that a configuration parameter may have.
 *
 * A value is kept as text; what type it must have is the declaration's
 * value_type. A type that is not known is a string.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* string, integer, number, boolean, json or list. */
bool config_type_is_known(struct str value_type);

/* Can the text be read as a value of this type? The arena is for the work. */
bool config_type_fits(struct str value_type, struct str text, struct arena *arena);

/* Appends the text as a JSON value of this type: integers plainly (5.0 as 5), the rest compact.
 * False, and nothing appended, when it does not fit. The arena is for the work. */
bool config_type_write(struct str value_type, struct str text, struct arena *arena,
                       struct buf *out) MUST_CHECK;
