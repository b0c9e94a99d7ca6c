/* id_token.h - what an identity provider says about a person, and whether to believe it.
 *
 * An ID token is believed if one of the provider's keys signed it, and it was made
 * by this provider, for this client, for this very sign-in, a moment ago (OpenID
 * Connect Core 1.0, section 3.1.3.7).
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "features/oidc/jwks.h"
#include "shape/shape.h"

enum {
    SUBJECT_MAX = 255, /* bytes, as the standard says */
    GROUPS_MAX = 500,  /* of a person; more are refused, not cut */
    CLOCK_SKEW_S = 60,
    TOKEN_AGE_MAX_S = 600,
};

struct id_token_rules {
    struct str issuer, client_id, nonce;
    const char *groups_claim;
    int64_t now_s; /* wall clock */
};

struct id_claims {
    struct str subject;
    struct str email;    /* STR_NULL: not said */
    bool email_verified; /* false: not said, or not so */
    bool has_groups;
    struct list groups;    /* of struct str */
    bool groups_elsewhere; /* too many for the token: it only says where to ask for them */
    struct str token;      /* the ID token itself, of provider_redeem() */
};

/* Checks a token and reads its claims into the arena. ERR_NOT_FOUND: none of `keys` signed it, but
 * a newer one may have. ERR_FORBIDDEN: not to be believed, with the reason. */
int id_token_read(struct str token, const struct jwks *keys, const struct id_token_rules *rules,
                  struct arena *arena, struct id_claims *ret, struct error *err) MUST_CHECK;

/* Adds what the token did not say, out of the answer of the UserInfo endpoint about the same
 * subject. ERR_FORBIDDEN: it is about another one; ERR_UNAVAILABLE: it is no JSON object. */
int id_claims_add(struct str json, const char *groups_claim, struct arena *arena,
                  struct id_claims *claims, struct error *err) MUST_CHECK;
