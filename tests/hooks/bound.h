/* bound.h - in a program that tests must tell from the real one: a bound that the environment
 * lifts.
 *
 * tests/hooks/lift_bounds.py puts calls of it into copies of our sources; ours know nothing of it.
 */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether LIFTED_BOUND names it: "A1". Tests start programs anew, so it does not change. */
static inline bool bound_is_lifted(const char *name)
{
    const char *lifted = getenv("LIFTED_BOUND");

    return lifted != NULL && strcmp(lifted, name) == 0;
}
