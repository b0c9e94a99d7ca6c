/* shapes.h - a user's second factor: an authenticator app, and recovery codes.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

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
