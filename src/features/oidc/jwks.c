/* jwks.c - JSON Web Keys as OpenSSL's keys. */
#include "features/oidc/jwks.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"

enum { COORDINATE_BYTES = 32, EXPONENT_BYTES_MAX = 4 };

struct jwk {
    enum jws_alg alg;
    struct str key_id; /* STR_NULL */
    EVP_PKEY *key;
};

struct jwks {
    struct arena arena; /* of the ids */
    struct jwk keys[JWKS_KEYS_MAX];
    size_t n;
};

const char *const jws_alg_names[] = { "RS256", "ES256", NULL };

bool base64url_decode(struct str text, struct arena *arena, struct str *ret)
{
    const size_t room = text.len / 4 * 3 + 3;
    unsigned char *bytes = arena_alloc(arena, room);
    size_t n;

    if (sodium_base642bin(bytes, room, text.data, text.len, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
        return false;
    *ret = str_from((const char *)bytes, n);
    return true;
}

static struct str member(yyjson_val *object, const char *name)
{
    yyjson_val *value = yyjson_obj_get(object, name);

    return yyjson_is_str(value) ? str_from(yyjson_get_str(value), yyjson_get_len(value)) : STR_NULL;
}

static EVP_PKEY *key_from(const char *type, OSSL_PARAM_BLD *build)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    if (params == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

/* NULL unless it has from 2048 to 8192 bits: fewer are weak, more take long. */
static EVP_PKEY *rsa_key(yyjson_val *jwk, struct arena *arena)
{
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    BIGNUM *modulus = NULL, *exponent = NULL;
    EVP_PKEY *key = NULL;
    struct str n, e;

    if (!base64url_decode(member(jwk, "n"), arena, &n) ||
        !base64url_decode(member(jwk, "e"), arena, &e) || n.len > RSA_BITS_MOST / 8 ||
        e.len > EXPONENT_BYTES_MAX)
        goto out;
    modulus = BN_bin2bn((const unsigned char *)n.data, (int)n.len, NULL);
    exponent = BN_bin2bn((const unsigned char *)e.data, (int)e.len, NULL);
    if (build == NULL || modulus == NULL || exponent == NULL)
        err_die("out of memory");
    if (BN_num_bits(modulus) < RSA_BITS_LEAST || !BN_is_odd(exponent) || BN_is_one(exponent))
        goto out;
    if (OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        key = key_from("RSA", build);
out:
    BN_free(modulus);
    BN_free(exponent);
    OSSL_PARAM_BLD_free(build);
    return key;
}

/* NULL unless it is a point of P-256. */
static EVP_PKEY *ec_key(yyjson_val *jwk, struct arena *arena)
{
    unsigned char point[1 + 2 * COORDINATE_BYTES] = { POINT_CONVERSION_UNCOMPRESSED };
    OSSL_PARAM_BLD *build;
    EVP_PKEY *key = NULL;
    struct str x, y;

    if (!str_eq_c(member(jwk, "crv"), "P-256") || !base64url_decode(member(jwk, "x"), arena, &x) ||
        !base64url_decode(member(jwk, "y"), arena, &y) || x.len != COORDINATE_BYTES ||
        y.len != COORDINATE_BYTES)
        return NULL;
    memcpy(point + 1, x.data, x.len);
    memcpy(point + 1 + COORDINATE_BYTES, y.data, y.len);
    build = OSSL_PARAM_BLD_new();
    if (build == NULL)
        err_die("out of memory");
    if (OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)) == 1)
        key = key_from("EC", build);
    OSSL_PARAM_BLD_free(build);
    return key;
}

/* Reads a key for signatures; others, also those that are damaged, are ignored. */
static void add_key(struct jwks *keys, yyjson_val *jwk, struct arena *arena)
{
    const struct str type = member(jwk, "kty"), use = member(jwk, "use"), alg = member(jwk, "alg");
    const bool is_rsa = str_eq_c(type, "RSA");
    struct jwk *key = &keys->keys[keys->n];

    if ((!is_rsa && !str_eq_c(type, "EC")) || (!str_is_null(use) && !str_eq_c(use, "sig")))
        return;
    key->alg = is_rsa ? JWS_RS256 : JWS_ES256;
    if (!str_is_null(alg) && !str_eq_c(alg, jws_alg_names[key->alg]))
        return;
    key->key = is_rsa ? rsa_key(jwk, arena) : ec_key(jwk, arena);
    if (key->key == NULL)
        return;
    key->key_id = arena_copy(&keys->arena, member(jwk, "kid"));
    keys->n++;
}

int jwks_read(struct str json, struct jwks **ret, struct error *err)
{
    yyjson_doc *doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(doc), "keys");
    struct jwks *keys = NEW(struct jwks);
    ARENA_SCOPED(arena);
    yyjson_arr_iter each;
    yyjson_val *jwk;

    arena_init(&keys->arena);
    if (yyjson_arr_iter_init(list, &each))
        while (keys->n < JWKS_KEYS_MAX && (jwk = yyjson_arr_iter_next(&each)) != NULL)
            add_key(keys, jwk, &arena);
    yyjson_doc_free(doc);
    if (keys->n > 0) {
        *ret = keys;
        return 0;
    }
    jwks_free(keys);
    return err_set(err, ERR_INVALID, "its key set has no key for RS256 or ES256");
}

void jwks_free(struct jwks *keys)
{
    if (keys == NULL)
        return;
    for (size_t i = 0; i < keys->n; i++)
        EVP_PKEY_free(keys->keys[i].key);
    arena_done(&keys->arena);
    free(keys);
}

/* r and s, which a token has side by side, as the DER that OpenSSL reads; NULL when they are not
 * 32 bytes each. The caller frees it with OPENSSL_free(). */
static unsigned char *der_of(struct str raw, int *ret_len)
{
    const unsigned char *bytes = (const unsigned char *)raw.data;
    unsigned char *der = NULL;
    ECDSA_SIG *both;
    BIGNUM *r, *s;

    if (raw.len != (size_t)2 * COORDINATE_BYTES)
        return NULL;
    both = ECDSA_SIG_new();
    r = BN_bin2bn(bytes, COORDINATE_BYTES, NULL);
    s = BN_bin2bn(bytes + COORDINATE_BYTES, COORDINATE_BYTES, NULL);
    if (both == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(both, r, s) != 1)
        err_die("out of memory");
    *ret_len = i2d_ECDSA_SIG(both, &der);
    ECDSA_SIG_free(both);
    return *ret_len > 0 ? der : NULL;
}

static bool verify_with(EVP_PKEY *key, struct str text, const unsigned char *signature, size_t len)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good;

    if (context == NULL)
        err_die("out of memory");
    good =
        EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestVerify(context, signature, len, (const unsigned char *)text.data, text.len) == 1;
    EVP_MD_CTX_free(context);
    return good;
}

static bool is_signed_by(const struct jwk *key, const struct jws *jws)
{
    unsigned char *der;
    bool good = false;
    int len = 0;

    if (key->alg == JWS_RS256)
        return verify_with(key->key, jws->text, (const unsigned char *)jws->signature.data,
                           jws->signature.len);
    der = der_of(jws->signature, &len);
    if (der != NULL)
        good = verify_with(key->key, jws->text, der, (size_t)len);
    OPENSSL_free(der);
    return good;
}

enum jws_verdict jwks_verify(const struct jwks *keys, const struct jws *jws)
{
    enum jws_verdict verdict = JWS_NO_KEY;

    for (size_t i = 0; i < keys->n; i++) {
        const struct jwk *key = &keys->keys[i];

        if (key->alg != jws->alg ||
            (!str_is_null(jws->key_id) && !str_eq(jws->key_id, key->key_id)))
            continue;
        if (is_signed_by(key, jws))
            return JWS_GOOD;
        verdict = JWS_BAD;
    }
    return verdict;
}
