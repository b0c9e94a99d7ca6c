/* password_rules.h - refuses passwords that are too short or easy to guess.
 *
 * No rule requires capitals, digits or symbols: such rules make passwords worse.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "base/str.h"

enum { PASSWORD_LEAST = 12 }; /* code points */

/* The problem with a new password of the user with this e-mail, as a sentence; NULL: none. */
const char *password_problem(struct str password, struct str email);

/* common_passwords.c: in lower case, each list ends in NULL. */
extern const char *const password_common[]; /* whole passwords */
extern const char
    *const password_words[]; /* refused also with a few digits or symbols around them */
extern const char *const password_rows[]; /* rows of keys on keyboards */
