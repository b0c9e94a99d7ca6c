/* password_rules.h - which passwords are refused: too short, or among the first that anybody tries.
 *
 * No rule asks for capitals, digits or the like: they make passwords worse.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "base/str.h"

enum { PASSWORD_LEAST = 12 }; /* code points */

/* What is wrong with a new password of the user with this e-mail, as a sentence; NULL: nothing. */
const char *password_problem(struct str password, struct str email);

/* password_list.c: in small letters, each list ends in NULL. */
extern const char *const password_common[]; /* whole passwords */
extern const char *const password_words[];  /* not to be had with a few digits or signs around */
extern const char *const password_rows[];   /* what lies side by side on keyboards */
