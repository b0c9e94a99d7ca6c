/* vocabulary.h - warnings about unknown words in a registration, which is stored all the same.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "shape/shape.h"

struct agent_register;

enum { WARNINGS_MAX = 100 }; /* listed one by one; a last warning counts the rest */

/* Units, aggregations and types outside their vocabularies, and defaults that do not fit their
 * type: a list of struct str, in the arena, in the order of the body. */
struct list vocabulary_warnings(const struct agent_register *body, struct arena *arena);
