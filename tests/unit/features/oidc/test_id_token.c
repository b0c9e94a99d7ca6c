/* test_id_token.c - which ID tokens are believed, and above all which are not. */
#include "features/oidc/oidc.h"

#include <stdio.h>

#include "base/digest.h"
#include "signer.h"
#include "test.h"

#define NOW    1700000000
#define ISSUER "https://login.example.com"
#define RS256  "{\"alg\":\"RS256\",\"kid\":\"one\"}"
#define ES256  "{\"alg\":\"ES256\",\"kid\":\"two\"}"
#define CLAIMS(aud, exp, iat, nonce, more)                                                         \
    "{\"iss\":\"" ISSUER "\",\"sub\":\"248289761001\",\"aud\":" aud ",\"exp\":" exp                \
    ",\"iat\":" iat ",\"nonce\":\"" nonce "\"" more "}"
#define GOOD(more) CLAIMS("\"muster\"", "1700000300", "1700000000", "n-0S6", more)

static EVP_PKEY *rsa, *ec, *other;
static struct jwks *keys;

/* Making an RSA key takes long: once for all tests. */
static void make_keys(struct arena *arena)
{
    struct str set;

    if (keys != NULL)
        return;
    digest_init();
    rsa = EVP_RSA_gen(2048);
    other = EVP_RSA_gen(2048);
    ec = EVP_EC_gen("P-256");
    set = arena_printf(arena, "{\"keys\":[%s,%s]}", jwk_of(rsa, "one", arena).data,
                       jwk_of(ec, "two", arena).data);
    CHECK_INT(jwks_read(set, &keys, NULL), 0);
}

static int read_with(const struct jwks *set, struct str token, struct arena *arena,
                     struct id_claims *claims, struct error *err)
{
    const struct id_token_rules rules = { .issuer = STR_LIT(ISSUER),
                                          .client_id = STR_LIT("muster"),
                                          .nonce = STR_LIT("n-0S6"),
                                          .groups_claim = "groups",
                                          .now_s = NOW };

    return id_token_read(token, set, &rules, arena, claims, err);
}

static int read_token(struct str token, struct arena *arena, struct id_claims *claims,
                      struct error *err)
{
    return read_with(keys, token, arena, claims, err);
}

TEST(good_tokens_of_both_algorithms_say_who_it_is)
{
    static const char claims_text[] = GOOD(
        ",\"email\":\"Ada@example.com\",\"email_verified\":true,\"groups\":[\"ops\",7,\"dev\"]");
    struct id_claims claims;
    struct arena arena;

    arena_init(&arena);
    make_keys(&arena);
    for (int i = 0; i < 2; i++) {
        const struct str token =
            token_of(i == 0 ? rsa : ec, i == 0 ? RS256 : ES256, claims_text, &arena);

        CHECK_INT(read_token(token, &arena, &claims, NULL), 0);
        CHECK_STR(claims.subject, "248289761001");
        CHECK_STR(claims.email, "Ada@example.com");
        CHECK(claims.email_verified && claims.has_groups);
        CHECK_INT(claims.groups.n, 2);
        CHECK_STR(((struct str *)claims.groups.items)[1], "dev");
    }
    /* without an id, any key of the type may have signed */
    CHECK_INT(
        read_token(token_of(ec, "{\"alg\":\"ES256\"}", claims_text, &arena), &arena, &claims, NULL),
        0);
    arena_done(&arena);
}

TEST(claims_that_do_not_fit_are_refused)
{
    static const struct {
        const char *claims, *why;
    } rows[] = {
        { "[]", "not a signed token" },
        { "{\"sub\":\"1\"}", "another issuer" },
        { "{\"iss\":\"https://login.example.com/"
          "\",\"sub\":\"1\",\"aud\":\"muster\",\"exp\":1700000300,"
          "\"iat\":1700000000,\"nonce\":\"n-0S6\"}",
          "another issuer" },
        { CLAIMS("\"other\"", "1700000300", "1700000000", "n-0S6", ""), "another client" },
        { CLAIMS("[\"other\"]", "1700000300", "1700000000", "n-0S6", ""), "another client" },
        { CLAIMS("[]", "1700000300", "1700000000", "n-0S6", ""), "another client" },
        { CLAIMS("[\"muster\",\"other\"]", "1700000300", "1700000000", "n-0S6", ""),
          "another client" },
        { GOOD(",\"azp\":\"other\""), "another client" },
        { CLAIMS("\"muster\"", "1699999940", "1699999000", "n-0S6", ""), "expired" },
        { CLAIMS("\"muster\"", "\"1700000300\"", "1700000000", "n-0S6", ""), "when it was made" },
        { CLAIMS("\"muster\"", "1700000300", "null", "n-0S6", ""), "when it was made" },
        { CLAIMS("\"muster\"", "1700000300", "1700000061", "n-0S6", ""), "future" },
        { GOOD(",\"nbf\":1700000061"), "future" },
        { CLAIMS("\"muster\"", "1700000300", "1699999399", "n-0S6", ""), "too old" },
        { CLAIMS("\"muster\"", "1700000300", "1700000000", "n-0S7", ""), "another sign-in" },
        { CLAIMS("\"muster\"", "1700000300", "1700000000", "", ""), "another sign-in" },
        { "{\"iss\":\"" ISSUER
          "\",\"aud\":\"muster\",\"exp\":1700000300,\"iat\":1700000000,\"nonce\":\"n-0S6\"}",
          "no subject" },
        { "{\"iss\":\"" ISSUER "\",\"sub\":\"\",\"aud\":\"muster\",\"exp\":1700000300,\"iat\":"
          "1700000000,\"nonce\":\"n-0S6\"}",
          "no subject" },
        { "{\"iss\":\"" ISSUER "\",\"sub\":\"a\\u0000b\",\"aud\":\"muster\",\"exp\":1700000300,"
          "\"iat\":1700000000,\"nonce\":\"n-0S6\"}",
          "no subject" },
    };
    struct id_claims claims;
    struct arena arena;

    arena_init(&arena);
    make_keys(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };

        CHECK_INT(read_token(token_of(rsa, RS256, rows[i].claims, &arena), &arena, &claims, &err),
                  -1);
        CHECK_INT(err.code, ERR_FORBIDDEN);
        if (strstr(err.text, rows[i].why) == NULL)
            fail_msg("row %zu: '%s' without '%s'", i, err.text, rows[i].why);
    }
    /* at the edges of what the clocks may differ by, and for several clients by name */
    CHECK_INT(
        read_token(token_of(rsa, RS256,
                            CLAIMS("\"muster\"", "1699999941", "1699999400", "n-0S6", ""), &arena),
                   &arena, &claims, NULL),
        0);
    CHECK_INT(read_token(token_of(rsa, RS256,
                                  CLAIMS("[\"a\",\"muster\"]", "1700000300.5", "1700000060",
                                         "n-0S6", ",\"azp\":\"muster\""),
                                  &arena),
                         &arena, &claims, NULL),
              0);
    arena_done(&arena);
}

TEST(a_signature_that_is_not_the_providers_is_refused)
{
    struct id_claims claims;
    struct arena arena;
    struct str good;
    char *copy;

    arena_init(&arena);
    make_keys(&arena);
    good = token_of(rsa, RS256, GOOD(""), &arena);
    CHECK_INT(read_token(good, &arena, &claims, NULL), 0);
    /* any changed character, anywhere */
    for (size_t i = 0; i < good.len - 1; i += 7) {
        copy = arena_alloc(&arena, good.len);
        memcpy(copy, good.data, good.len);
        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        CHECK_INT(read_token(str_from(copy, good.len), &arena, &claims, NULL), -1);
    }
    /* another key under the same id; a signature of another token; none; too short a one */
    CHECK_INT(read_token(token_of(other, RS256, GOOD(""), &arena), &arena, &claims, NULL), -1);
    good = token_of(ec, ES256, GOOD(""), &arena);
    CHECK_INT(read_token(str_from(good.data, good.len - 2), &arena, &claims, NULL), -1);
    CHECK_INT(read_token(arena_printf(&arena, "%s.", unsigned_of(ES256, GOOD(""), &arena).data),
                         &arena, &claims, NULL),
              -1);
    CHECK_INT(read_token(arena_printf(&arena, "%s.%s", good.data, "AAAA"), &arena, &claims, NULL),
              -1);
    CHECK_INT(read_token(STR_LIT(""), &arena, &claims, NULL), -1);
    CHECK_INT(read_token(STR_LIT(".."), &arena, &claims, NULL), -1);
    arena_done(&arena);
}

TEST(the_algorithm_is_not_the_tokens_choice)
{
    static const char *const headers[] = {
        "{\"alg\":\"none\",\"kid\":\"one\"}",
        "{\"alg\":\"None\"}",
        "{\"kid\":\"one\"}",
        "{\"alg\":null}",
        "{\"alg\":\"RS512\",\"kid\":\"one\"}",
        "{\"alg\":\"PS256\",\"kid\":\"one\"}",
        "{\"alg\":\"HS256\",\"kid\":\"one\"}",
        "{\"alg\":\"RS256\",\"kid\":\"one\",\"crit\":[\"b64\"]}",
    };
    struct id_claims claims;
    struct arena arena;
    struct str secret;

    arena_init(&arena);
    make_keys(&arena);
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        struct error err = { 0 };

        CHECK_INT(read_token(token_of(rsa, headers[i], GOOD(""), &arena), &arena, &claims, &err),
                  -1);
        CHECK_INT(err.code, ERR_FORBIDDEN);
    }
    CHECK_INT(
        read_token(arena_printf(&arena, "%s.", unsigned_of(headers[0], GOOD(""), &arena).data),
                   &arena, &claims, NULL),
        -1);
    /* the public key as the secret of an HMAC, as the provider publishes it */
    secret = jwk_of(rsa, "one", &arena);
    CHECK_INT(
        read_token(hmac_token_of(secret, "{\"alg\":\"HS256\",\"kid\":\"one\"}", GOOD(""), &arena),
                   &arena, &claims, NULL),
        -1);
    CHECK_INT(read_token(hmac_token_of(secret, RS256, GOOD(""), &arena), &arena, &claims, NULL),
              -1);
    /* a key of one type under the algorithm of the other */
    CHECK_INT(read_token(token_of(ec, "{\"alg\":\"RS256\",\"kid\":\"two\"}", GOOD(""), &arena),
                         &arena, &claims, NULL),
              -1);
    CHECK_INT(read_token(token_of(rsa, "{\"alg\":\"ES256\",\"kid\":\"one\"}", GOOD(""), &arena),
                         &arena, &claims, NULL),
              -1);
    arena_done(&arena);
}

TEST(a_token_that_no_known_key_signed_may_be_of_a_newer_one)
{
    struct error err = { 0 };
    struct id_claims claims;
    struct arena arena;

    arena_init(&arena);
    make_keys(&arena);
    CHECK_INT(read_token(token_of(other, "{\"alg\":\"RS256\",\"kid\":\"new\"}", GOOD(""), &arena),
                         &arena, &claims, &err),
              -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK(strstr(err.text, "unknown key") != NULL);
    /* under the id of one that is known */
    CHECK_INT(read_token(token_of(other, RS256, GOOD(""), &arena), &arena, &claims, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK(strstr(err.text, "wrong signature") != NULL);
    arena_done(&arena);
}

TEST(groups_that_are_not_said_are_told_from_none)
{
    static const struct {
        const char *claims;
        bool has_groups, elsewhere;
    } rows[] = {
        { GOOD(""), false, false },
        { GOOD(",\"groups\":null"), false, false },
        { GOOD(",\"groups\":{\"a\":1}"), false, false },
        { GOOD(",\"groups\":[]"), true, false },
        { GOOD(",\"_claim_names\":{\"groups\":\"src1\"}"), false, true },
        { GOOD(",\"_claim_names\":{\"address\":\"src1\"}"), false, false },
    };
    struct id_claims claims;
    struct arena arena;

    arena_init(&arena);
    make_keys(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_INT(read_token(token_of(rsa, RS256, rows[i].claims, &arena), &arena, &claims, NULL),
                  0);
        CHECK(claims.has_groups == rows[i].has_groups);
        CHECK(claims.groups_elsewhere == rows[i].elsewhere);
    }
    arena_done(&arena);
}

TEST(keys_that_are_weak_or_for_something_else_are_ignored)
{
    EVP_PKEY *weak = EVP_RSA_gen(1024);
    struct jwks *set = NULL;
    struct arena arena;
    struct str jwk;

    arena_init(&arena);
    make_keys(&arena);
    jwk = jwk_of(weak, "one", &arena);
    CHECK_INT(jwks_read(arena_printf(&arena, "{\"keys\":[%s]}", jwk.data), &set, NULL), -1);
    EVP_PKEY_free(weak);
    CHECK_INT(jwks_read(STR_LIT("{\"keys\":[]}"), &set, NULL), -1);
    CHECK_INT(
        jwks_read(STR_LIT("{\"keys\":[7,{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"},{\"kty\":\"RSA\"},{"
                          "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}]}"),
                  &set, NULL),
        -1);
    CHECK_INT(jwks_read(STR_LIT("nothing"), &set, NULL), -1);
    /* not a point of the curve */
    CHECK_INT(jwks_read(STR_LIT("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\","
                                "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
                                "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}"),
                        &set, NULL),
              -1);
    CHECK(set == NULL);
    arena_done(&arena);
}

TEST(user_info_completes_what_the_token_did_not_say)
{
    struct id_claims claims;
    struct error err = { 0 };
    struct arena arena;

    arena_init(&arena);
    make_keys(&arena);
    CHECK_INT(read_token(token_of(rsa, RS256, GOOD(",\"groups\":\"ops\""), &arena), &arena, &claims,
                         NULL),
              0);
    CHECK(str_is_null(claims.email) && claims.groups.n == 1);
    CHECK_INT(id_claims_add(STR_LIT("{\"sub\":\"248289761001\",\"email\":\"a@b.example\",\"email_"
                                    "verified\":\"true\",\"groups\":[\"x\",\"y\"]}"),
                            "groups", &arena, &claims, NULL),
              0);
    CHECK_STR(claims.email, "a@b.example");
    CHECK(claims.email_verified && claims.groups.n == 1); /* what is signed stays */
    CHECK_INT(id_claims_add(STR_LIT("{\"sub\":\"1\"}"), "groups", &arena, &claims, &err), -1);
    CHECK_INT(err.code, ERR_FORBIDDEN);
    CHECK_INT(id_claims_add(STR_LIT("nothing"), "groups", &arena, &claims, &err), -1);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    CHECK_INT(id_claims_add(STR_LIT("[]"), "groups", &arena, &claims, &err), -1);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    arena_done(&arena);
}
