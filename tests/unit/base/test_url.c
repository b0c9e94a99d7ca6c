/* test_url.c - which URLs settings may have. */
#include "base/address.h"
#include "test.h"

TEST(a_host_is_a_name_or_an_address_with_or_without_a_port)
{
    static const struct {
        const char *text;
        bool is_host;
    } rows[] = {
        { "localhost", true },
        { "muster.example.com:8443", true },
        { "MUSTER-1.Example", true },
        { "some_host", true },
        { "1and1.example", true },
        { "192.0.2.1", true },
        { "192.0.2.1:1", true },
        { "[::1]", true },
        { "[2001:db8::1]:65535", true },
        { "", false },
        { ":80", false },
        { "a:", false },
        { "a:0", false },
        { "a:080", false },
        { "a:+80", false },
        { "a:65536", false },
        { "a:80:80", false },
        { "a..b", false },
        { ".a", false },
        { "a.", false },
        { "-a", false },
        { "a-.b", false },
        { "a b", false },
        { "a/b", false },
        { "a?b", false },
        { "a#b", false },
        { "u@a", false },
        { "a%20b", false },
        { "m\xc3\xbcster.example", false }, /* browsers send it as xn--… */
        { "192.0.2.256", false },
        { "192.0.2", false },
        { "1.2.3.4.5", false },
        { "::1", false },
        { "[::1", false },
        { "[192.0.2.1]", false },
        { "[::1]80", false },
        { "[::1]:", false },
        { "[]", false },
    };
    char label[65];

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_INT(url_is_host(str_of(rows[i].text)), rows[i].is_host);
    memset(label, 'x', 64);
    CHECK(!url_is_host(str_from(label, 64)));
    CHECK(url_is_host(str_from(label, 63)));
}

TEST(a_url_has_one_of_the_schemes_and_a_host_alone)
{
    CHECK(url_is_plain(STR_LIT("https://a"), "https http"));
    CHECK(url_is_plain(STR_LIT("http://a:80"), "https http"));
    CHECK(url_is_plain(STR_LIT("smtps://a"), "smtp smtps"));
    CHECK(!url_is_plain(STR_LIT("ftp://a"), "https http"));
    CHECK(!url_is_plain(STR_LIT("https:/a"), "https http"));
    CHECK(!url_is_plain(STR_LIT("https://"), "https http"));
    CHECK(!url_is_plain(STR_LIT("HTTPS://a"), "https http"));
    CHECK(!url_is_plain(STR_LIT("https://a/"), "https http"));
    CHECK(!url_is_plain(STR_LIT("a"), "https http"));
    CHECK(!url_is_plain(STR_LIT(""), "https http"));
}
