/* test_address.c - addresses in every spelling, and networks. */
#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "test.h"

static struct address parsed(const char *text)
{
    struct address a;

    CHECK(address_parse(str_of(text), &a));
    return a;
}

TEST(addresses_are_written_in_their_shortest_form)
{
    static const char *const rows[][2] = {
        { "192.0.2.1", "192.0.2.1" },
        { "::ffff:192.0.2.1", "192.0.2.1" },
        { "::FFFF:c000:201", "192.0.2.1" },
        { "0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1" },
        { "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
        { "::1", "::1" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct address a = parsed(rows[i][0]);
        char room[ADDRESS_CHARS_MAX];

        CHECK_STR(address_format(&a, room), rows[i][1]);
    }
}

TEST(what_is_not_an_address_is_refused)
{
    static const char *const rows[] = {
        "",
        "unix",
        "local",
        "192.0.2",
        "192.0.2.256",
        "192.0.2.1:80",
        "[::1]",
        "192.0.2.1 ",
        "::1%lo",
        "1::2::3",
        "example.com",
        "10.0.0.0/8",
        "2001:db8:0000:0000:0000:0000:0000:0000:0000:0001",
    };
    struct address a;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK(!address_parse(str_of(rows[i]), &a));
    CHECK(!address_parse(str_from("192.0.2.1\0", 10), &a));
    CHECK(!address_parse(STR_NULL, &a));
}

TEST(a_peer_may_have_a_port)
{
    static const char *const good[][2] = {
        { "192.0.2.1:80", "192.0.2.1" },       { "192.0.2.1", "192.0.2.1" },
        { "[2001:db8::1]:80", "2001:db8::1" }, { "[2001:db8::1]", "2001:db8::1" },
        { "2001:db8::1", "2001:db8::1" },      { "[::ffff:192.0.2.1]:80", "192.0.2.1" },
        { "::ffff:192.0.2.1", "192.0.2.1" },
    };
    static const char *const bad[] = {
        "unix",   "192.0.2.1:", "192.0.2.1:x", "192.0.2.1:65536", "[::1", "[::1]80",
        "[::1]:", "[]:80",      ":80",         "192.0.2.1:-1",
    };
    struct address a;

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char room[ADDRESS_CHARS_MAX];

        CHECK(address_parse_peer(str_of(good[i][0]), &a));
        CHECK_STR(address_format(&a, room), good[i][1]);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!address_parse_peer(str_of(bad[i]), &a));
}

TEST(a_socket_address_is_the_address_that_its_text_names)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(80) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    const struct sockaddr other = { .sa_family = AF_UNIX };
    struct address a, expected = parsed("192.0.2.1");

    CHECK(inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr) == 1);
    a = address_of((const struct sockaddr *)&v4);
    CHECK(address_equal(&a, &expected));
    CHECK(inet_pton(AF_INET6, "::ffff:192.0.2.1", &v6.sin6_addr) == 1);
    a = address_of((const struct sockaddr *)&v6);
    CHECK(address_equal(&a, &expected));
    CHECK(str_eq(address_bytes(&a), address_bytes(&expected)));
    CHECK(inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr) == 1);
    a = address_of((const struct sockaddr *)&v6);
    expected = parsed("2001:db8::1");
    CHECK(address_equal(&a, &expected));
    CHECK(address_of(&other).family == ADDRESS_NONE);
}

TEST(a_64_of_ipv6_and_a_single_ipv4_address_count_as_one_caller)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        { "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true },
        { "2001:db8::1", "2001:db8:0:1::1", false },
        { "192.0.2.1", "192.0.2.1", true },
        { "192.0.2.1", "::ffff:192.0.2.1", true },
        { "192.0.2.1", "192.0.2.2", false },
        { "::ffff:192.0.2.1", "::ffff:192.0.2.2", false }, /* although of one /64 as IPv6 */
        { "0.0.0.0", "::", false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct address a = parsed(rows[i].a), b = parsed(rows[i].b);
        const struct address an = address_network(&a), bn = address_network(&b);

        CHECK(address_equal(&an, &bn) == rows[i].same);
    }
}

static bool has(const char *list, const char *address)
{
    const struct address a = parsed(address);
    struct address_list prefixes;
    struct arena arena;
    bool ret;

    arena_init(&arena);
    CHECK(address_list_parse(str_of(list), &arena, &prefixes, NULL) == 0);
    ret = address_list_has(&prefixes, &a);
    arena_done(&arena);
    return ret;
}

TEST(an_address_is_found_in_a_list_of_addresses_and_networks)
{
    CHECK(!has("", "192.0.2.1"));
    CHECK(!has(" ", "192.0.2.1"));
    CHECK(has("192.0.2.1", "::ffff:192.0.2.1"));
    CHECK(has("::ffff:192.0.2.1", "192.0.2.1"));
    CHECK(has("2001:db8::1 , 192.0.2.1", "192.0.2.1"));
    CHECK(!has("192.0.2.1", "192.0.2.2"));
    CHECK(has("10.0.0.0/8", "10.255.0.1"));
    CHECK(!has("10.0.0.0/8", "11.0.0.1"));
    CHECK(has("192.0.2.128/25", "192.0.2.129"));
    CHECK(!has("192.0.2.128/25", "192.0.2.127"));
    CHECK(has("::ffff:10.0.0.0/104", "10.255.0.1"));
    CHECK(has("2001:db8::/32", "2001:db8:ffff::1"));
    CHECK(!has("2001:db8::/33", "2001:db8:ffff::1"));
    CHECK(has("0.0.0.0/0", "192.0.2.1"));
    CHECK(!has("::/0", "192.0.2.1")); /* IPv4 is not a part of IPv6 */
    CHECK(has("::/0", "2001:db8::1"));
}

TEST(a_bad_list_is_refused_with_the_entry_that_is_wrong)
{
    static const char *const rows[][2] = {
        { "192.0.2.1,", "'' is not an address" },
        { ",192.0.2.1", "'' is not an address" },
        { "192.0.2.1 10.0.0.1", "'192.0.2.1 10.0.0.1' is not an address" },
        { "10.0.0.1,proxy.example.com", "'proxy.example.com' is not an address" },
        { "10.0.0.0/33", "'10.0.0.0/33': the prefix length goes from 0 to 32" },
        { "10.0.0.0/", "'10.0.0.0/': the prefix length goes from 0 to 32" },
        { "10.0.0.0/-1", "'10.0.0.0/-1': the prefix length goes from 0 to 32" },
        { "10.0.0.0/8/8", "'10.0.0.0/8/8': the prefix length goes from 0 to 32" },
        { "2001:db8::/129", "'2001:db8::/129': the prefix length goes from 0 to 128" },
        { "::ffff:10.0.0.0/8", "'::ffff:10.0.0.0/8': the prefix length goes from 96 to 128" },
        { "10.0.0.1/8", "'10.0.0.1/8' has bits set after its prefix of 8" },
        { "2001:db8::1/64", "'2001:db8::1/64' has bits set after its prefix of 64" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct address_list list;
        struct error err = { 0 };
        struct arena arena;

        arena_init(&arena);
        CHECK(address_list_parse(str_of(rows[i][0]), &arena, &list, &err) != 0);
        CHECK(err.code == ERR_INVALID);
        CHECK(strncmp(err.text, rows[i][1], strlen(rows[i][1])) == 0);
        arena_done(&arena);
    }
}
