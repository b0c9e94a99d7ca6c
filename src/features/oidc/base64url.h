/* base64url.h - the text form of bytes in JSON Web Tokens and Keys.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* The bytes, in the arena; false unless all of the text is base64url without padding. */
bool base64url_decode(struct str text, struct arena *arena, struct str *ret);

/* Letters, digits and "-._~" as they are, everything else as %XX: for URLs and forms. */
struct str percent_encode(struct str text, struct arena *arena);
