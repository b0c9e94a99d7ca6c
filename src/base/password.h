/* password.h - passwords as they are stored: argon2id with 64 MiB and three passes.
 *
 * Each call takes that much memory and tenths of a second: never on a loop
 * thread nor on the writer.
 *
 * Thread-safe; digest_init() first.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum { PASSWORD_HASH_MAX = 128 };

/* NUL-terminated text with the parameters, the salt and the hash. ERR_UNAVAILABLE: no memory. */
int password_hash(struct str password, char ret[PASSWORD_HASH_MAX], struct error *err) MUST_CHECK;

/* Is it the password that `hash` was made of? Of STR_NULL (no such user) it never is, in as much
 * time. ERR_UNAVAILABLE: no memory. */
int password_verify(struct str hash, struct str password, bool *ret, struct error *err) MUST_CHECK;

/* Made with weaker parameters than today's. */
bool password_is_stale(struct str hash);
