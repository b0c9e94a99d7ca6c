/* test_password_rules.c - which new passwords are refused, and which must not be. */
#include "features/users/shapes.h"

#include "test.h"

static const char email[] = "jane.doe@example.com";

static bool is_good(const char *password)
{
    return password_problem(str_of(password), str_of(email)) == NULL;
}

TEST(a_password_of_eleven_characters_is_refused_and_one_of_twelve_is_not)
{
    CHECK(!is_good(""));
    CHECK(!is_good("kV9#tqLx2.w"));
    CHECK(is_good("kV9#tqLx2.wz"));
    CHECK(!is_good("äöüßéèñçøåæ")); /* eleven characters, 22 bytes */
    CHECK(is_good("äöüßéèñçøåæœ"));
}

TEST(a_password_may_be_as_long_as_the_bound_and_no_longer)
{
    char text[PASSWORD_MAX + 2];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + (i * i + i / 26) % 26);
    CHECK(password_problem(str_from(text, 64), STR_NULL) == NULL);
    CHECK(password_problem(str_from(text, PASSWORD_MAX), STR_NULL) == NULL);
    CHECK(password_problem(str_from(text, PASSWORD_MAX + 1), STR_NULL) != NULL);
}

TEST(what_everybody_tries_first_is_refused)
{
    static const char *const rows[] = {
        "aaaaaaaaaaaa",  "ababababababab",   "abcabcabcabcabc",      "123412341234",
        "123456789012",  "098765432109",     "abcdefghijklm",        "zyxwvutsrqpo",
        "qwertyuiopas",  "mnbvcxzlkjhg",     "1qaz2wsx3edc",         "Password1234",
        "P@ssw0rd1234",  "passwordpassword", "123password456",       "Welcome2024!",
        "Welcome2024!!", "admin1234567",     "ADMINISTRATOR",        "correcthorsebatterystaple",
        "Summer2025!!",  "iloveyou1234",     "l3tm31n!!!!!",         "muster123456",
        "112233445566",  "zaq12wsxcde3",     "jane.doe@example.com", "JANE.DOE@example.com",
        "jane.doe1234",  "!jane.doe2025",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (is_good(rows[i]))
            fail_msg("'%s' is taken", rows[i]);
}

TEST(no_rule_asks_for_kinds_of_characters)
{
    static const char *const rows[] = {
        "tumbling lantern orchard",   "gravelfinchoven",    "8315 7294 6108 55",
        "            x1           y", "ПарольСложныйОчень", "winter grass by the lake",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!is_good(rows[i]))
            fail_msg("'%s' is refused", rows[i]);
}

TEST(an_email_is_told_from_what_is_none)
{
    static const char *const good[] = { "a@b", "a.b+c@d-e.example", "o'neil@x.org", "ü@ü.de" };
    static const char *const bad[] = { "",      "a",     "@b",    "a@",    "a@b@c",
                                       "a b@c", "a@b c", "a@.b",  "a@b.",  "a@b..c",
                                       "a\n@b", "a@b\n", "<a@b>", "a,b@c", "a@b_c" };

    for (size_t i = 0; i < COUNT_OF(good); i++)
        CHECK(user_is_email(str_of(good[i])));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (user_is_email(str_of(bad[i])))
            fail_msg("'%s' is taken", bad[i]);
}

TEST(an_email_has_at_most_254_bytes)
{
    char text[EMAIL_MAX + 1];

    memset(text, 'a', sizeof(text));
    text[1] = '@';
    CHECK(user_is_email(str_from(text, EMAIL_MAX)));
    CHECK(!user_is_email(str_from(text, EMAIL_MAX + 1)));
}

TEST(an_email_is_the_same_in_any_case_and_with_spaces_around)
{
    struct arena arena;

    arena_init(&arena);
    CHECK_STR(user_email_normal(STR_LIT(" \tJane.Doe@Example.COM "), &arena),
              "jane.doe@example.com");
    CHECK_STR(user_email_normal(STR_LIT(""), &arena), "");
    arena_done(&arena);
}
