/* metadata.h - what a provider says about itself (OpenID Connect Discovery 1.0).
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct metadata {
    struct str authorization_endpoint, token_endpoint, jwks_uri;
    struct str userinfo_endpoint, end_session_endpoint; /* STR_NULL: none */
    bool secret_in_body; /* the token endpoint does not know Basic authentication */
};

/* Reads the document of this issuer into the arena. ERR_INVALID: it is of another one, or lacks an
 * endpoint, or one is not https. */
int metadata_read(struct str json, const char *issuer, struct arena *arena, struct metadata *ret,
                  struct error *err) MUST_CHECK;
