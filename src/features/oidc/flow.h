/* flow.h - one sign-in by the provider, between its begin and its return.
 *
 * The browser keeps all of it: a cookie with 256 random bits. State, nonce and
 * PKCE verifier are hashes of those bits, so the service remembers nothing about
 * sign-ins that were begun, however many there are, and any node can finish what
 * another began. What the provider and its URLs show, the state, the nonce and the
 * challenge, does not reveal the bits or the verifier.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/digest.h"
#include "base/str.h"

struct flow {
    char state[BASE64URL_LEN + 1], nonce[BASE64URL_LEN + 1];
    char verifier[BASE64URL_LEN + 1];
    char challenge[BASE64URL_LEN + 1]; /* S256 of the verifier */
};

/* Of the cookie's text. */
void flow_of(struct str secret, struct flow *ret);
