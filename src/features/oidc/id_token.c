/* id_token.c - checks the signature and the claims of an ID token. */
#include "features/oidc/oidc.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/digest.h"
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

static struct str text_of(yyjson_val *value)
{
    return yyjson_is_str(value) ? str_from(yyjson_get_str(value), yyjson_get_len(value)) : STR_NULL;
}

static struct str claim_text(yyjson_val *object, const char *name)
{
    return text_of(yyjson_obj_get(object, name));
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

    if (!base64url_decode(claim_text(jwk, "n"), arena, &n) ||
        !base64url_decode(claim_text(jwk, "e"), arena, &e) || n.len > RSA_BITS_MOST / 8 ||
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

    if (!str_eq_c(claim_text(jwk, "crv"), "P-256") ||
        !base64url_decode(claim_text(jwk, "x"), arena, &x) ||
        !base64url_decode(claim_text(jwk, "y"), arena, &y) || x.len != COORDINATE_BYTES ||
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
    const struct str type = claim_text(jwk, "kty"), use = claim_text(jwk, "use"),
                     alg = claim_text(jwk, "alg");
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
    key->key_id = arena_copy(&keys->arena, claim_text(jwk, "kid"));
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

static enum jws_verdict jwks_verify(const struct jwks *keys, const struct jws *jws)
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

static int refuse(struct error *err, const char *why)
{
    return err_set(err, ERR_FORBIDDEN, "the ID token %s", why);
}

/* A time in seconds, which may have a fraction; false when it is missing or not a number. */
static bool claim_time(yyjson_val *claims, const char *name, int64_t *ret)
{
    yyjson_val *value = yyjson_obj_get(claims, name);
    const double seconds = yyjson_get_num(value);

    if (!yyjson_is_num(value) || !(seconds >= 0 && seconds < 1e12))
        return false;
    *ret = (int64_t)seconds;
    return true;
}

/* One of the two algorithms, or none. */
static bool find_alg(struct str name, enum jws_alg *ret)
{
    for (int i = 0; i < JWS_ALGS; i++)
        if (str_eq_c(name, jws_alg_names[i])) {
            *ret = (enum jws_alg)i;
            return true;
        }
    return false;
}

static int read_header(struct str text, struct arena *arena, struct jws *ret, struct error *err)
{
    yyjson_doc *doc;
    yyjson_val *root;
    struct str json;
    int r = 0;

    if (!base64url_decode(text, arena, &json))
        return refuse(err, "is not a signed token");
    doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root))
        r = refuse(err, "is not a signed token");
    else if (!find_alg(claim_text(root, "alg"), &ret->alg))
        r = refuse(err, "is not signed with RS256 or ES256");
    else if (yyjson_obj_get(root, "crit") != NULL) /* extensions that must be understood */
        r = refuse(err, "has a header that is not supported");
    ret->key_id = arena_copy(arena, claim_text(root, "kid"));
    yyjson_doc_free(doc);
    return r;
}

/* Cuts the token in three and checks its signature; *ret is the JSON of its claims. */
static int check_signature(struct str token, const struct jwks *keys, struct arena *arena,
                           struct str *ret, struct error *err)
{
    struct str rest = token, header, claims;
    struct jws jws = { 0 };

    header = str_split(&rest, '.');
    claims = str_is_null(rest) ? STR_NULL : str_split(&rest, '.');
    if (str_is_null(rest) || memchr(rest.data, '.', rest.len) != NULL)
        return refuse(err, "is not a signed token");
    if (read_header(header, arena, &jws, err) != 0)
        return -1;
    jws.text = str_from(token.data, header.len + 1 + claims.len);
    if (!base64url_decode(rest, arena, &jws.signature) || !base64url_decode(claims, arena, ret))
        return refuse(err, "is not a signed token");
    switch (jwks_verify(keys, &jws)) {
    case JWS_GOOD:
        return 0;
    case JWS_NO_KEY:
        return err_set(err, ERR_NOT_FOUND, "the ID token is signed with an unknown key");
    case JWS_BAD:
        break;
    }
    return err_set(err, ERR_NOT_FOUND, "the ID token has a wrong signature");
}

/* A token for several clients must name the one it was made for. */
static bool is_for_client(yyjson_val *claims, struct str client_id)
{
    yyjson_val *audience = yyjson_obj_get(claims, "aud"), *party = yyjson_obj_get(claims, "azp");
    bool found = str_eq(text_of(audience), client_id);
    yyjson_arr_iter each;
    yyjson_val *one;

    if (yyjson_arr_iter_init(audience, &each))
        while (!found && (one = yyjson_arr_iter_next(&each)) != NULL)
            found = yyjson_is_str(one) && str_eq(text_of(one), client_id);
    if (!found)
        return false;
    if (party == NULL)
        return yyjson_arr_size(audience) <= 1;
    return str_eq(text_of(party), client_id);
}

static int check_times(yyjson_val *claims, int64_t now_s, struct error *err)
{
    int64_t expires, issued, begins;

    if (!claim_time(claims, "exp", &expires) || !claim_time(claims, "iat", &issued))
        return refuse(err, "does not say when it was made and when it expires");
    if (expires + CLOCK_SKEW_S <= now_s)
        return refuse(err, "has expired: check the clocks of the provider and the service");
    if (issued > now_s + CLOCK_SKEW_S ||
        (claim_time(claims, "nbf", &begins) && begins > now_s + CLOCK_SKEW_S))
        return refuse(err, "is from the future: check the clocks of the provider and the service");
    if (issued < now_s - TOKEN_AGE_MAX_S)
        return refuse(err, "is too old: check the clocks of the provider and the service");
    return 0;
}

static int check_claims(yyjson_val *claims, const struct id_token_rules *rules, struct error *err)
{
    const struct str subject = claim_text(claims, "sub"), nonce = claim_text(claims, "nonce");

    if (!str_eq(claim_text(claims, "iss"), rules->issuer))
        return refuse(err, "is of another issuer");
    if (!is_for_client(claims, rules->client_id))
        return refuse(err, "is for another client");
    if (check_times(claims, rules->now_s, err) != 0)
        return -1;
    if (str_is_null(nonce) || !digest_equal_text(nonce, rules->nonce))
        return refuse(err, "is of another sign-in");
    if (subject.len == 0 || subject.len > SUBJECT_MAX ||
        memchr(subject.data, '\0', subject.len) != NULL)
        return refuse(err, "has no subject");
    return 0;
}

/* Of a list of names, or of one. */
static int read_groups(yyjson_val *value, struct arena *arena, struct id_claims *ret,
                       struct error *err)
{
    const size_t n = yyjson_is_arr(value) ? yyjson_arr_size(value) : 1;
    struct str *groups;
    yyjson_arr_iter each;
    yyjson_val *one;

    if (!yyjson_is_str(value) && !yyjson_is_arr(value))
        return 0;
    if (n > GROUPS_MAX)
        return err_set(err, ERR_FORBIDDEN,
                       "the person has %zu groups, more than %d: let the provider send only those "
                       "that are mapped",
                       n, GROUPS_MAX);
    groups = ARENA_ARRAY(arena, struct str, n + 1);
    ret->has_groups = true;
    ret->groups = (struct list){ groups, 0 };
    if (yyjson_is_str(value))
        groups[ret->groups.n++] = arena_copy(arena, text_of(value));
    else if (yyjson_arr_iter_init(value, &each))
        while ((one = yyjson_arr_iter_next(&each)) != NULL)
            if (yyjson_is_str(one))
                groups[ret->groups.n++] = arena_copy(arena, text_of(one));
    return 0;
}

/* What is not known yet. */
static int add_claims(yyjson_val *claims, const char *groups_claim, struct arena *arena,
                      struct id_claims *ret, struct error *err)
{
    yyjson_val *verified = yyjson_obj_get(claims, "email_verified");
    yyjson_val *elsewhere = yyjson_obj_get(claims, "_claim_names"); /* Core 1.0, section 5.6.2 */

    if (str_is_null(ret->email)) { /* with its own email_verified, not that of the other source */
        ret->email = arena_copy(arena, claim_text(claims, "email"));
        ret->email_verified = yyjson_is_true(verified) || str_eq_c(text_of(verified), "true");
    }
    if (yyjson_obj_get(elsewhere, groups_claim) != NULL)
        ret->groups_elsewhere = true;
    return ret->has_groups ? 0 : read_groups(yyjson_obj_get(claims, groups_claim), arena, ret, err);
}

int id_token_read(struct str token, const struct jwks *keys, const struct id_token_rules *rules,
                  struct arena *arena, struct id_claims *ret, struct error *err)
{
    yyjson_val *claims;
    yyjson_doc *doc;
    struct str json = STR_NULL;
    int r = -1;

    *ret = (struct id_claims){ 0 };
    if (check_signature(token, keys, arena, &json, err) != 0)
        return -1;
    doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    claims = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(claims)) {
        (void)refuse(err, "is not a signed token");
    } else if (check_claims(claims, rules, err) == 0) {
        ret->subject = arena_copy(arena, claim_text(claims, "sub"));
        r = add_claims(claims, rules->groups_claim, arena, ret, err);
    }
    yyjson_doc_free(doc);
    return r;
}

int id_claims_add(struct str json, const char *groups_claim, struct arena *arena,
                  struct id_claims *claims, struct error *err)
{
    yyjson_doc *doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    int r;

    if (!yyjson_is_obj(root))
        r = err_set(err, ERR_UNAVAILABLE, "its UserInfo endpoint did not answer JSON");
    else if (!str_eq(claim_text(root, "sub"), claims->subject))
        r = err_set(err, ERR_FORBIDDEN, "the UserInfo endpoint answered about another person");
    else
        r = add_claims(root, groups_claim, arena, claims, err);
    yyjson_doc_free(doc);
    return r;
}
