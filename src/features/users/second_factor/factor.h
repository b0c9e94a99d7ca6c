/* factor.h - a user's second factor: created, confirmed, checked at sign-in, and removed.
 *
 * The key of the app is sealed by the vault, recovery codes are digests that only
 * this installation can compute. A code is good once: the step of the last code
 * that was used is stored, and no code of that step or an earlier one is good.
 *
 * All run inside a transaction or on a reader, with the caller's connection;
 * answers are in the arena.
 */
#pragma once
#include <stdbool.h>

#include "api/route.h"
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;
struct engine;

enum { RECOVERY_CODES = 10, FACTOR_CODE_MAX = 64 };

struct factor_state {
    bool active;
    int64_t recovery_codes_left;
    int64_t confirmed_at; /* TIME_NULL: not active */
};

/* The user proves with it that an open session is theirs. */
struct factor_password {
    struct str current_password;
};

struct factor_begun {
    struct str secret, uri;
};

struct factor_code {
    struct str code;
};

struct factor_recovery {
    struct list recovery_codes; /* of struct str */
};

extern const struct shape factor_state_shape, factor_password_shape, factor_begun_shape,
    factor_code_shape, factor_recovery_shape;

/* Deletes the factor and its recovery codes; *ret_n: how many factors there were (may be NULL). */
int factor_remove(struct db *db, struct str user_id, int64_t *ret_n, struct error *err) MUST_CHECK;

enum factor_verdict {
    FACTOR_NONE,   /* the user has no second factor */
    FACTOR_NEEDED, /* has one, and no code was given */
    FACTOR_WRONG,
    FACTOR_GOOD, /* the code is right, unless it is used meanwhile */
};

struct factor_check {
    enum factor_verdict verdict;
    bool is_recovery;       /* a recovery code, not one of the app */
    int64_t step;           /* of the app's code */
    struct sha256 recovery; /* digest of the recovery code */
};

int factor_show(struct db *db, struct str user_id, struct arena *arena, struct factor_state *ret,
                struct error *err) MUST_CHECK;

/* The next three are of the call's user. A new key, which factor_confirm() makes active.
 * ERR_CONFLICT when one is active. */
call_work_fn factor_begin;

/* With a code of the new key; answers recovery codes. ERR_CONFLICT when none was begun; 422 when
 * the code is wrong. */
call_work_fn factor_confirm;

/* Replaces all recovery codes. ERR_CONFLICT when no factor is active. */
call_work_fn factor_renew;

/* Judges the code that was given (STR_NULL: none) of a user; changes nothing. Any thread. */
int factor_check(const struct engine *e, struct db *db, struct str user_id, struct str given,
                 struct factor_check *ret, struct error *err) MUST_CHECK;

/* In the transaction that opens the session: a good code can be used only once. *ret is false when
 * it was used meanwhile. */
int factor_use(struct db *db, struct str user_id, const struct factor_check *check, bool *ret,
               struct error *err) MUST_CHECK;

/* Time-based one-time passwords (RFC 6238): SHA-1, 6 digits, steps of 30 seconds, as every
 * authenticator app knows them. Pure functions. */
enum { TOTP_KEY_BYTES = 20, TOTP_KEY_CHARS = 32, TOTP_DIGITS = 6, TOTP_STEP_S = 30 };

/* The key in base32, NUL-terminated. */
void totp_key_text(const uint8_t key[TOTP_KEY_BYTES], char ret[TOTP_KEY_CHARS + 1]);

/* The step at this wall clock. */
int64_t totp_step(int64_t wall_us);

/* The digits of a step, NUL-terminated. */
void totp_code(const uint8_t key[TOTP_KEY_BYTES], int64_t step, char ret[TOTP_DIGITS + 1]);

/* Is it the code of a step next to `now_step`, in either direction, that is after `used_step`?
 * Takes equally long whatever the code. */
bool totp_match(const uint8_t key[TOTP_KEY_BYTES], struct str code, int64_t now_step,
                int64_t used_step, int64_t *ret_step);
