/* second_factor.h - what sign-in asks of the feature that knows users' second factors, which is
 * above this one and registers itself here. */
#pragma once
#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct engine;

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

struct second_factor {
    /* Judges the code (STR_NULL: none) of a user; changes nothing. Any thread. */
    int (*check)(const struct engine *e, struct db *db, struct str user_id, struct str code,
                 struct factor_check *ret, struct error *err);

    /* In the transaction that opens the session: a good code can be used only once. *ret is false
     * when it was used meanwhile. */
    int (*use)(struct db *db, struct str user_id, const struct factor_check *check, bool *ret,
               struct error *err);

    /* The user is being deleted, or gets an account that another person may have had. */
    int (*forget)(struct db *db, struct str user_id, struct error *err);
};

/* In open() only. */
void access_set_second_factor(struct engine *e, const struct second_factor *factor);

/* NULL: no feature has set it. Any thread. */
const struct second_factor *access_second_factor(const struct engine *e);
