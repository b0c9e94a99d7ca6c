/* reference.h - references to secrets in configuration values: vault:NAME as the whole value,
 * ${vault:NAME} inside a longer one.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"

/* A part of a value: a secret's name, or plain text. */
struct reference_part {
    struct str text;
    bool is_secret;
};

/* The problem with the references in a value, as a sentence; NULL: none. */
const char *reference_problem(struct str value);

/* The next part of a value without problems; false at its end. Begin with `*at` 0. */
bool reference_next(struct str value, size_t *at, struct reference_part *ret);

bool reference_is_in(struct str value);
