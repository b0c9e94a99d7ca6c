/* throttle.h - limits failed sign-ins per account and per address.
 *
 * At most ten failures per account, and per address, in 15 minutes. Running
 * attempts count as failures, so that parallel attempts cannot exceed the
 * limit. A success clears the account's failures. Known to this process only,
 * and bounded: when there are too many accounts and addresses, those that
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

/* Begins an attempt at `now_us`. 0: allowed; call throttle_end() later. Else the seconds to wait
 * before the next attempt, rounded up. */
int64_t throttle_begin(struct throttle *t, struct str account, struct str address, int64_t now_us);

void throttle_end(struct throttle *t, struct str account, struct str address, int64_t now_us,
                  enum throttle_outcome outcome);
