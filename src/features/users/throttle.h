/* throttle.h - limits failed sign-ins per account and per address.
 *
 * At most ten failures per account, and per address, in 15 minutes. Running
 * attempts count as failures, so that parallel attempts cannot exceed the
 * limit. A success clears the account's failures.
 *
 * Strangers who fail must not lock an account's owner out: an attempt from an
 * address that the account signed in from before, or by a browser with a session
 * of the account, is known. Its failures count per account and address, apart
 * from the strangers', and against the same limit.
 *
 * All of an IPv6 /64 is one address. This is what one process knows, bounded:
 * when there are too many accounts and addresses, those that failed longest ago
 * are forgotten. Failures at other processes, and before this one started, are in
 * the database (accounts.c). Monotonic time only.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/address.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct engine;
struct throttle;

/* Any thread. */
struct throttle *users_throttle(const struct engine *e);

enum { THROTTLE_FAILURES = 10, THROTTLE_WINDOW_S = 15 * 60 };

enum throttle_outcome { ATTEMPT_FAILED, ATTEMPT_SUCCEEDED, ATTEMPT_UNDECIDED };

struct throttle *throttle_new(void);

/* NULL is fine. */
void throttle_free(struct throttle *t);

/* A caller who tries to prove that an account is theirs. */
struct throttle_attempt {
    struct str account;
    struct address from;
    bool known; /* the browser has a session of the account; throttle_begin() also sets it for an
                   address that the account signed in from */
    bool first; /* set by throttle_begin(): the only one of its account, or account and address */
};

/* Begins an attempt at `now_us`. 0: allowed; call throttle_end() with the same attempt later. Else
 * the seconds to wait before the next attempt, rounded up. */
int64_t throttle_begin(struct throttle *t, struct throttle_attempt *attempt, int64_t now_us);

void throttle_end(struct throttle *t, const struct throttle_attempt *attempt, int64_t now_us,
                  enum throttle_outcome outcome);

/* What an attempt is counted for, the same in every process; after throttle_begin(). */
struct sha256 throttle_who(const struct throttle_attempt *attempt);
struct sha256 throttle_where(const struct throttle_attempt *attempt);

/* A user who is signed in has a password hashed: one at a time, since all share one thread. False
 * while another one is under way; else throttle_end_hash() must follow. */
bool throttle_begin_hash(struct throttle *t, struct str user_id);
void throttle_end_hash(struct throttle *t, struct str user_id);
