/* lapse.h - ends the personal access tokens of people who have not signed in for long.
 *
 * The groups of a person are known only when they sign in. Sessions end after seven
 * days by themselves; a token may live for a year, and would keep the roles of a
 * group that its user has left. So tokens of users who have an identity end once
 * their user has not signed in for LAPSE_DAYS.
 */
#pragma once
#include "base/err.h"

struct engine;
struct lapse;
struct tick;

enum { LAPSE_DAYS = 30, LAPSE_PERIOD_S = 3600, LAPSE_USERS_MAX = 100 };

struct lapse *lapse_new(void);

/* When the writer has ended. NULL is fine. */
void lapse_free(struct lapse *l);

/* Looks every LAPSE_PERIOD_S, and has the writer end what it finds. On the watcher's thread. */
int lapse_tick(struct lapse *l, struct engine *e, const struct tick *tick,
               struct error *err) MUST_CHECK;
