/* misses.h - tokens that were not good, counted by the address that sent them.
 *
 * An address that guesses is told to wait, and unknown tokens of all addresses
 * together cost the database a bounded number of looks a second. What is
 * remembered has a fixed size: when it is full, the address that began to miss
 * longest ago is forgotten.
 *
 * Layer: service. May use: base. Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

enum { MISSES_MAX = 1000, MISSES_WINDOW_S = 60, LOOKS_MAX = 100 }; /* looks: in a second */

struct misses;

struct misses *misses_new(void);

/* NULL is fine. */
void misses_free(struct misses *m);

/* One more bad token from this address, which has no port. Returns 0, or for how many seconds the
 * address has had too many. */
int64_t misses_count(struct misses *m, struct str from);

/* The next one would be too many. */
bool misses_are_too_many(struct misses *m, struct str from);

/* May the database be asked about an unknown token now? Counts as one look. */
bool misses_may_look(struct misses *m);
