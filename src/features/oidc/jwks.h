/* jwks.h - the provider's public keys (JSON Web Key Set, RFC 7517), and signatures made with them.
 *
 * Only RS256 and ES256 exist here. The algorithm decides the type of key, so that a
 * token cannot have a public key used as the secret of an HMAC, and "none" is no
 * algorithm. Keys that are neither are ignored.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct jwks;

/* The text form of bytes in tokens and keys. The bytes are in the arena; false unless all of the
 * text is base64url without padding. */
bool base64url_decode(struct str text, struct arena *arena, struct str *ret);

enum { JWKS_KEYS_MAX = 32, RSA_BITS_LEAST = 2048, RSA_BITS_MOST = 8192 };

enum jws_alg { JWS_RS256, JWS_ES256, JWS_ALGS };

extern const char *const jws_alg_names[]; /* of enum jws_alg, ends in NULL */

enum jws_verdict { JWS_GOOD, JWS_BAD, JWS_NO_KEY };

/* Reads a key set; the caller owns *ret. ERR_INVALID when it is not one, or has no usable key. */
int jwks_read(struct str json, struct jwks **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void jwks_free(struct jwks *keys);

struct jws {
    enum jws_alg alg;
    struct str key_id; /* STR_NULL: the token names none, so any key of the type may have made it */
    struct str text;   /* what is signed */
    struct str signature; /* raw: RSASSA-PKCS1-v1_5, or r and s of 32 bytes each */
};

/* JWS_NO_KEY: no key has that id and type. */
enum jws_verdict jwks_verify(const struct jwks *keys, const struct jws *jws);
