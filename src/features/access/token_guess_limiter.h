/* token_guess_limiter.h - tokens that were not good, counted by the address that sent them.
 *
 * An address that guesses is told to wait, and unknown tokens of all addresses
 * together cost the database a bounded number of looks a second. What is
 * remembered has a fixed size: when it is full, the address that began to miss
 * longest ago is forgotten.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

enum { MISSES_MAX = 1000, MISSES_WINDOW_S = 60, LOOKS_MAX = 100 }; /* looks: in a second */

struct token_guess_limiter;

struct token_guess_limiter *token_guess_limiter_new(void);

/* NULL is fine. */
void token_guess_limiter_free(struct token_guess_limiter *m);

/* One more bad token from this address, which has no port. Returns 0, or for how many seconds the
 * address has had too many. */
int64_t token_guess_count(struct token_guess_limiter *m, struct str from);

/* The next one would be too many. */
bool token_guesses_exceeded(struct token_guess_limiter *m, struct str from);

/* May the database be asked about an unknown token now? Counts as one look. */
bool token_guess_may_look_up(struct token_guess_limiter *m);
