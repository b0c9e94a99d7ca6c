/* test_target.c - no webhook leads into our own network, however its URL is written. */
#include "features/webhooks/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "test.h"

static const struct target_rules strict, local = { true, true }, plain = { .allow_http = true };

TEST(public_targets_are_taken)
{
    static const char *const urls[] = {
        "https://hooks.example.com/services/a/b?c=d",
        "https://hooks.example.com:8443/",
        "HTTPS://EXAMPLE.COM",
        "https://8.8.8.8/hook",
        "https://[2606:4700::1111]/hook",
        "https://172.32.0.1/",
        "https://100.128.0.1/",
        "https://xn--bcher-kva.example/",
    };

    for (size_t i = 0; i < COUNT_OF(urls); i++)
        if (target_check_url(str_of(urls[i]), &strict) != NULL)
            fail_msg("%s: %s", urls[i], target_check_url(str_of(urls[i]), &strict));
}

TEST(tricky_targets_are_refused)
{
    static const char *const urls[] = {
        "http://example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "example.com/hook",
        "//example.com/hook",
        "https://",
        "https:///path",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://example.com@127.0.0.1/",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://a.localhost/",
        "https://printer.local/",
        "https://metadata.google.internal/",
        "https://db/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://017700000001/",
        "https://0/",
        "https://0.0.0.0/",
        "https://10.0.0.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://172.16.0.1/",
        "https://172.31.255.255/",
        "https://192.168.1.1/",
        "https://192.0.2.1/",
        "https://198.18.0.1/",
        "https://198.51.100.7/",
        "https://203.0.113.9/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "https://[::]/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:8.8.8.8]/",
        "https://[::127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[64:ff9b:1::1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001::1]/",
        "https://[2001:db8::1]/",
        "https://[3fff::1]/",
        "https://[fc00::1]/",
        "https://[fd00:ec2::254]/",
        "https://[fe80::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fec0::1]/",
        "https://[ff02::1]/",
        "https://[100::1]/",
        "https://example.com:22/",
        "https://example.com:25/",
        "https://example.com:6379/",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://exam ple.com/",
        "https://example.com/\r\nHost: x",
        "https://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/",
        "https://127\xe3\x80\x82"
        "0\xe3\x80\x82"
        "0\xe3\x80\x82"
        "1/",
        "https://%31%32%37.0.0.1/",
    };

    for (size_t i = 0; i < COUNT_OF(urls); i++)
        if (target_check_url(str_of(urls[i]), &strict) == NULL)
            fail_msg("%s was taken", urls[i]);
}

TEST(an_operator_may_allow_http_and_private_addresses)
{
    CHECK(target_check_url(STR_LIT("http://example.com/"), &plain) == NULL);
    CHECK(target_check_url(STR_LIT("http://127.0.0.1/"), &plain) != NULL);
    CHECK(target_check_url(STR_LIT("http://127.0.0.1:12345/hook"), &local) == NULL);
    CHECK(target_check_url(STR_LIT("http://user@127.0.0.1/"), &local) != NULL);
    CHECK(target_check_url(STR_LIT("ftp://127.0.0.1/"), &local) != NULL);
}

TEST(what_is_no_internet_address_is_not_public)
{
    struct sockaddr_un unix_address = { .sun_family = AF_UNIX };
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr = { htonl(0x08080808) } };

    CHECK(!target_is_public((const struct sockaddr *)&unix_address));
    CHECK(target_is_public((const struct sockaddr *)&v4));
}

TEST(an_overlong_url_is_refused)
{
    static char url[4096] = "https://example.com/";

    for (size_t i = 20; i < sizeof(url) - 1; i++)
        url[i] = 'a';
    CHECK(target_check_url(str_of(url), &strict) != NULL);
    CHECK(target_check_url(STR_LIT(""), &strict) != NULL);
}
