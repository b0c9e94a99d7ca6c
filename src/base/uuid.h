/* uuid.h - UUIDs in any standard spelling, kept in the lower-case hyphenated one.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

enum { UUID_TEXT_LEN = 36, UUID_BYTES = 16 };

/* Takes 8-4-4-4-12, 32 hex digits, {8-4-4-4-12} and urn:uuid:8-4-4-4-12 (prefix in lower case),
 * digits in any case. Writes the canonical text, not NUL-terminated. */
bool uuid_parse(struct str s, char ret_text[UUID_TEXT_LEN]);

/* The bytes of a UUID in the canonical spelling. False for any other text: uuid_format() gives back
 * exactly what was packed. */
bool uuid_pack(struct str s, uint8_t ret[UUID_BYTES]);

/* Not NUL-terminated. */
void uuid_format(const uint8_t bytes[UUID_BYTES], char ret_text[UUID_TEXT_LEN]);
