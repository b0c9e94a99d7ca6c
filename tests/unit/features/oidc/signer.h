/* signer.h - keys of a provider, and tokens signed with them, for tests. */
#pragma once
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <sodium.h>

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

static inline struct str base64url(struct arena *arena, struct str bytes)
{
    const size_t room =
        sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *text = arena_alloc(arena, room);

    return str_of(sodium_bin2base64(text, room, (const unsigned char *)bytes.data, bytes.len,
                                    sodium_base64_VARIANT_URLSAFE_NO_PADDING));
}

static inline struct str number_of(EVP_PKEY *key, const char *name, size_t bytes,
                                   struct arena *arena)
{
    BIGNUM *number = NULL;
    unsigned char *out;

    ASSERT_ALWAYS(EVP_PKEY_get_bn_param(key, name, &number) == 1);
    if (bytes == 0)
        bytes = (size_t)BN_num_bytes(number);
    out = arena_alloc(arena, bytes);
    ASSERT_ALWAYS(BN_bn2binpad(number, out, (int)bytes) == (int)bytes);
    BN_free(number);
    return base64url(arena, str_from((const char *)out, bytes));
}

/* The public key as a JSON Web Key. */
static inline struct str jwk_of(EVP_PKEY *key, const char *id, struct arena *arena)
{
    if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA) {
        const struct str n = number_of(key, OSSL_PKEY_PARAM_RSA_N, 0, arena),
                         e = number_of(key, OSSL_PKEY_PARAM_RSA_E, 0, arena);

        return arena_printf(
            arena, "{\"kty\":\"RSA\",\"kid\":\"%s\",\"use\":\"sig\",\"n\":\"%s\",\"e\":\"%s\"}", id,
            n.data, e.data);
    }
    const struct str x = number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, 32, arena),
                     y = number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32, arena);

    return arena_printf(
        arena, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"%s\",\"x\":\"%s\",\"y\":\"%s\"}", id,
        x.data, y.data);
}

/* r and s of a signature in DER, side by side. */
static inline struct str raw_of(struct str der, struct arena *arena)
{
    const unsigned char *at = (const unsigned char *)der.data;
    ECDSA_SIG *both = d2i_ECDSA_SIG(NULL, &at, (long)der.len);
    unsigned char *raw = arena_alloc(arena, 64);

    ASSERT_ALWAYS(both != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(both), raw, 32) == 32 &&
                  BN_bn2binpad(ECDSA_SIG_get0_s(both), raw + 32, 32) == 32);
    ECDSA_SIG_free(both);
    return str_from((const char *)raw, 64);
}

static inline struct str signature_of(EVP_PKEY *key, struct str text, struct arena *arena)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t n = 1024;
    unsigned char *out = arena_alloc(arena, n);
    struct str signature;

    ASSERT_ALWAYS(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                  EVP_DigestSign(context, out, &n, (const unsigned char *)text.data, text.len) ==
                      1);
    EVP_MD_CTX_free(context);
    signature = str_from((const char *)out, n);
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA ? signature : raw_of(signature, arena);
}

/* header.claims, in base64url. */
static inline struct str unsigned_of(const char *header, const char *claims, struct arena *arena)
{
    const struct str head = base64url(arena, str_of(header)),
                     body = base64url(arena, str_of(claims));

    return arena_printf(arena, "%s.%s", head.data, body.data);
}

static inline struct str token_of(EVP_PKEY *key, const char *header, const char *claims,
                                  struct arena *arena)
{
    const struct str text = unsigned_of(header, claims, arena),
                     signature = base64url(arena, signature_of(key, text, arena));

    return arena_printf(arena, "%s.%s", text.data, signature.data);
}

/* Signed with HMAC under any bytes. */
static inline struct str hmac_token_of(struct str secret, const char *header, const char *claims,
                                       struct arena *arena)
{
    const struct str text = unsigned_of(header, claims, arena);
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct str signature;

    ASSERT_ALWAYS(HMAC(EVP_sha256(), secret.data, (int)secret.len, (const unsigned char *)text.data,
                       text.len, mac, &n) != NULL);
    signature = base64url(arena, str_from((const char *)mac, n));
    return arena_printf(arena, "%s.%s", text.data, signature.data);
}
