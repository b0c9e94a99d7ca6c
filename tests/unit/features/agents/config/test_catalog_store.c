/* test_catalog_store.c - which parameters are secrets by their name. */
#include "features/agents/config/store.h"

#include "test.h"

static void check(const char *key, bool secret)
{
    struct catalog_parameter entry = catalog_first_entry(str_of(key));

    if (entry.secret != secret)
        fail_msg("'%s' is %s", key, secret ? "not secret" : "secret");
    CHECK_STR(entry.key, key);
    CHECK_STR(entry.edit, "admin");
    CHECK_STR(entry.see, secret ? "nobody" : "member");
}

TEST(a_key_that_speaks_of_a_secret_is_one_in_every_spelling)
{
    static const char *const keys[] = {
        "password",        "PASSWORD",       "Password",      "db_password",
        "db.password.old", "smtpPassword",   "pass-word",     "passwords",
        "secret",          "SECRET",         "client_secret", "clientSecret",
        "secret_name",     "secrets",        "token",         "GITHUB_TOKEN",
        "accessToken",     "refresh-token",  "token_url",     "tokens",
        "api_key",         "API_KEY",        "apiKey",        "api-key",
        "api key",         "api.key",        "apikey",        "openai_api_key",
        "x-api-key-2",     "credential",     "credentials",   "AWS_CREDENTIALS_FILE",
        "__token__",       "\xc3\xa9_token",
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        check(keys[i], true);
}

TEST(any_other_key_is_for_members_to_see)
{
    static const char *const keys[] = {
        "",      "url", "pass", "word",   "passwort", "secre",  "ecret",     "toke",
        "oken",  "api", "key",  "keyapi", "key_api",  "api_ke", "credentia", "p\xc3\xa4ssword",
        "t0ken", "-",   "____",
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        check(keys[i], false);
}
