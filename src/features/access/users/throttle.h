/* throttle.h - how often somebody may fail to log in.
 *
 * Ten failures of one account, or from one address, in 15 minutes are all;
 * attempts under way count as if they will fail, so that many at once are no
 * way around it. A success forgets the account's failures. Known to this
 * process only, and bounded: of very many accounts and addresses the ones that
 * failed longest ago are forgotten. Monotonic time only.
 *
 * Thread-safe.
 */
#pragma once
#include "base/str.h"

struct throttle;

enum { THROTTLE_FAILURES = 10, THROTTLE_WINDOW_S = 15 * 60 };

enum throttle_outcome { ATTEMPT_FAILED, ATTEMPT_SUCCEEDED, ATTEMPT_UNDECIDED };

struct throttle *throttle_new(void);

/* NULL is fine. */
void throttle_free(struct throttle *t);

/* An attempt at `now_us`. 0: go on, and call throttle_end() later. Else the seconds after which
 * another try is worth it, rounded up. */
int64_t throttle_begin(struct throttle *t, struct str account, struct str address, int64_t now_us);

void throttle_end(struct throttle *t, struct str account, struct str address, int64_t now_us,
                  enum throttle_outcome outcome);
