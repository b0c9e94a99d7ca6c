/* provider.h - the identity provider: its endpoints and keys, and the code for an ID token.
 *
 * What it says about itself and its keys are fetched when they are first needed
 * and kept for an hour; keys also when none of them signed a token, at most every 10
 * seconds. After a failure it is not asked again for 5 seconds, so that
 * sign-ins are answered at once while it is down.
 *
 * Thread-safe; all of them block, so never call them on a loop thread.
 */
#pragma once
#include <stdatomic.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "features/oidc/id_token.h"

struct provider;

/* Texts are borrowed. */
struct provider_options {
    const char *issuer, *client_id;
    const char *secret_file; /* empty: a public client */
    const char *scopes, *groups_claim;
    struct str redirect_uri;
    const atomic_bool *cancel; /* true: end requests at once */
};

/* One sign-in, between its begin and its return. The browser keeps all of it: a cookie with 256
 * random bits. State, nonce and PKCE verifier are hashes of those bits, so the service remembers
 * nothing about sign-ins that were begun, however many there are, and any node can finish what
 * another began. What the provider and its URLs show, the state, the nonce and the challenge, does
 * not reveal the bits or the verifier. */
struct flow {
    char state[BASE64URL_LEN + 1], nonce[BASE64URL_LEN + 1];
    char verifier[BASE64URL_LEN + 1];
    char challenge[BASE64URL_LEN + 1]; /* S256 of the verifier */
};

/* Of the cookie's text. */
void flow_of(struct str secret, struct flow *ret);

/* What a provider says about itself (OpenID Connect Discovery 1.0). */
struct metadata {
    struct str authorization_endpoint, token_endpoint, jwks_uri;
    struct str userinfo_endpoint, end_session_endpoint; /* STR_NULL: none */
    bool secret_in_body; /* the token endpoint does not know Basic authentication */
};

/* Reads the document of this issuer into the arena. ERR_INVALID: it is of another one, or lacks an
 * endpoint, or one is not https. Pure. */
int metadata_read(struct str json, const char *issuer, struct arena *arena, struct metadata *ret,
                  struct error *err) MUST_CHECK;

struct provider *provider_new(const struct provider_options *options);

/* NULL is fine. */
void provider_free(struct provider *p);

/* Where the browser goes to sign in; in the arena. ERR_UNAVAILABLE: the provider cannot be reached,
 * or what it answers is of no use. */
int provider_sign_in_url(struct provider *p, const struct flow *flow, struct arena *arena,
                         struct str *ret, struct error *err) MUST_CHECK;

/* Where the browser goes to sign out, with the ID token that it signed in with; in the arena.
 * STR_NULL: the provider has no such page. ERR_UNAVAILABLE as above. */
int provider_sign_out_url(struct provider *p, struct str id_token, struct arena *arena,
                          struct str *ret, struct error *err) MUST_CHECK;

/* Exchanges the code for an ID token, checks it, and completes its claims; in the arena.
 * ERR_UNAVAILABLE as above; ERR_INVALID: the provider refuses the code; ERR_FORBIDDEN: it refuses
 * this client, or its answer is not to be believed; with the reason. */
int provider_redeem(struct provider *p, struct str code, const struct flow *flow,
                    struct arena *arena, struct id_claims *ret, struct error *err) MUST_CHECK;
