/* uuid.h - UUIDs in any standard spelling, kept in the lower-case hyphenated one.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

enum { UUID_TEXT_LEN = 36 };

/* Takes 8-4-4-4-12, 32 hex digits, {8-4-4-4-12} and urn:uuid:8-4-4-4-12 (prefix in lower case),
 * digits in any case. Writes the canonical text, not NUL-terminated. */
bool uuid_parse(struct str s, char ret_text[UUID_TEXT_LEN]);
