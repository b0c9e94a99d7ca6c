/* test_flow.c - what one sign-in is made of, and which URLs the service may ask. */
#include "features/oidc/oidc.h"

#include "base/arena.h"
#include "test.h"

TEST(a_secret_gives_the_same_flow_again_and_another_secret_another_one)
{
    char secret[BASE64URL_LEN + 1];
    struct flow a, b;

    digest_init();
    digest_random_base64url(secret);
    flow_of(str_of(secret), &a);
    flow_of(str_of(secret), &b);
    CHECK(memcmp(&a, &b, sizeof(a)) == 0);
    CHECK(strcmp(a.state, a.nonce) != 0 && strcmp(a.state, a.verifier) != 0 &&
          strcmp(a.nonce, a.verifier) != 0 && strcmp(a.state, secret) != 0);
    digest_random_base64url(secret);
    flow_of(str_of(secret), &b);
    CHECK(strcmp(a.state, b.state) != 0 && strcmp(a.nonce, b.nonce) != 0 &&
          strcmp(a.verifier, b.verifier) != 0);
}

TEST(the_challenge_is_the_hash_of_the_verifier)
{
    /* RFC 7636, appendix B */
    const struct sha256 digest =
        digest_sha256(STR_LIT("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
    char text[BASE64URL_LEN + 1], secret[BASE64URL_LEN + 1];
    struct sha256 own;
    struct flow flow;

    digest_init();
    digest_base64url(digest.bytes, text);
    assert_string_equal(text, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    digest_random_base64url(secret);
    flow_of(str_of(secret), &flow);
    own = digest_sha256(str_of(flow.verifier));
    digest_base64url(own.bytes, text);
    assert_string_equal(text, flow.challenge);
}

TEST(only_https_is_asked_but_for_this_machine)
{
    static const char *const good[] = {
        "https://login.example.com", "https://login.example.com:8443/realms/acme",
        "http://127.0.0.1:3000",     "http://localhost/x",
        "http://[::1]:80/",          "http://[::1]",
        "https://example.com/a@b",   "https://example.com?a=b@c"
    };
    static const char *const bad[] = { "",
                                       "https://",
                                       "http://login.example.com",
                                       "http://127.0.0.1.example.com/",
                                       "http://localhost@example.com/",
                                       "http://localhost:x@example.com/",
                                       "http://127.0.0.1:80@example.com?x",
                                       "https://login.example.com@example.net",
                                       "http://[::1].example.com",
                                       "ftp://127.0.0.1/",
                                       "https://a b",
                                       "https://a/#x",
                                       "file:///etc/passwd",
                                       "login.example.com" };

    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!fetch_is_allowed(str_of(good[i])))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (fetch_is_allowed(str_of(bad[i])))
            fail_msg("allowed: %s", bad[i]);
}

#define DOCUMENT(issuer, token, more)                                                              \
    "{\"issuer\":\"" issuer "\",\"authorization_endpoint\":\"https://a.example/auth\","            \
    "\"token_endpoint\":\"" token "\",\"jwks_uri\":\"https://a.example/jwks\"" more "}"

TEST(a_discovery_document_must_be_of_the_issuer_and_name_safe_endpoints)
{
    static const struct {
        const char *json, *why;
    } rows[] = {
        { "", "not a JSON object" },
        { "[]", "not a JSON object" },
        { "{}", "another issuer" },
        { DOCUMENT("https://b.example", "https://a.example/token", ""), "another issuer" },
        { DOCUMENT("https://a.example/", "https://a.example/token", ""), "another issuer" },
        { DOCUMENT("https://a.example", "http://a.example/token", ""), "token_endpoint" },
        { DOCUMENT("https://a.example", "file:///etc/shadow", ""), "token_endpoint" },
        { DOCUMENT("https://a.example", "https://a.example/t", ",\"userinfo_endpoint\":7"),
          "userinfo_endpoint" },
        { DOCUMENT("https://a.example", "https://a.example/t",
                   ",\"end_session_endpoint\":\"javascript:alert(1)\""),
          "end_session_endpoint" },
        { "{\"issuer\":\"https://a.example\"}", "authorization_endpoint" },
    };
    struct metadata metadata;
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };

        CHECK_INT(metadata_read(str_of(rows[i].json), "https://a.example", &arena, &metadata, &err),
                  -1);
        if (strstr(err.text, rows[i].why) == NULL)
            fail_msg("row %zu: '%s' without '%s'", i, err.text, rows[i].why);
    }
    CHECK_INT(metadata_read(STR_LIT(DOCUMENT("https://a.example", "https://a.example/t", "")),
                            "https://a.example", &arena, &metadata, NULL),
              0);
    CHECK(str_is_null(metadata.userinfo_endpoint) && !metadata.secret_in_body);
    CHECK_INT(metadata_read(STR_LIT(DOCUMENT("https://a.example", "https://a.example/t",
                                             ",\"token_endpoint_auth_methods_supported\":"
                                             "[\"client_secret_post\"]")),
                            "https://a.example", &arena, &metadata, NULL),
              0);
    CHECK(metadata.secret_in_body && str_is_null(metadata.end_session_endpoint));
    CHECK_INT(metadata_read(STR_LIT(DOCUMENT("https://a.example", "https://a.example/t",
                                             ",\"end_session_endpoint\":\"https://b.example/x\"")),
                            "https://a.example", &arena, &metadata, NULL),
              0);
    CHECK_STR(metadata.end_session_endpoint, "https://b.example/x");
    arena_done(&arena);
}

TEST(what_is_not_base64url_is_not_decoded)
{
    static const char *const bad[] = { "A", "AA==", "A A", "AA+A", "AA/A", "AAAAA" };
    struct arena arena;
    struct str bytes;

    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!base64url_decode(str_of(bad[i]), &arena, &bytes));
    CHECK(base64url_decode(STR_LIT("bXVzdGVy_-8"), &arena, &bytes) && bytes.len == 8);
    CHECK_STR(buf_percent(STR_LIT("a b&c=d/ü~"), &arena), "a%20b%26c%3Dd%2F%C3%BC~");
    arena_done(&arena);
}
