/* flow.c - derives state, nonce and PKCE verifier from the browser's secret. */
#include "features/oidc/flow.h"

#include <stdio.h>

static void derive(const char *purpose, struct str secret, char ret[BASE64URL_LEN + 1])
{
    char text[32 + BASE64URL_LEN + 1];
    const int n =
        snprintf(text, sizeof(text), "muster oidc %s:%.*s", purpose, BASE64URL_LEN, secret.data);
    const struct sha256 digest = digest_sha256(str_from(text, (size_t)n));

    digest_base64url(digest.bytes, ret);
}

void flow_of(struct str secret, struct flow *ret)
{
    struct sha256 challenge;

    ASSERT_ALWAYS(secret.len == BASE64URL_LEN);
    derive("state", secret, ret->state);
    derive("nonce", secret, ret->nonce);
    derive("verifier", secret, ret->verifier);
    challenge = digest_sha256(str_of(ret->verifier));
    digest_base64url(challenge.bytes, ret->challenge);
}
