/* token_guess_limiter.h - counts invalid tokens per client address.
 *
 * An address with too many must wait, and lookups of unknown tokens in the
 * database are limited per second for all addresses together. The table has a
 * fixed size: when it is full, the address whose window began first is
 * forgotten.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/address.h"
#include "base/base.h"

enum {
    TOKEN_GUESSES_MAX = 1000,
    TOKEN_GUESSES_WINDOW_S = 60,
    LOOKUPS_MAX = 100
}; /* lookups per second */

struct token_guess_limiter;

struct token_guess_limiter *token_guess_limiter_new(void);

/* NULL is fine. */
void token_guess_limiter_free(struct token_guess_limiter *m);

/* Counts an invalid token from this address; all of an IPv6 /64 counts as one. Returns 0, or the
 * seconds to wait when the address has sent too many. */
int64_t token_guess_count(struct token_guess_limiter *m, const struct address *from);

/* Would the next one be too many? */
bool token_guesses_exceeded(struct token_guess_limiter *m, const struct address *from);

/* May an unknown token be looked up in the database now? Counts as one lookup. */
bool token_guess_may_look_up(struct token_guess_limiter *m);

/* The same where most unknown tokens are expected to be found: counts those that were not. */
bool token_guess_may_miss(struct token_guess_limiter *m);
void token_guess_missed(struct token_guess_limiter *m);
