/* listen.c - reads addresses to listen on. */
#include "app/listen.h"

#include <stdio.h>
#include <string.h>

int listen_read(const char *setting, const char *text, struct listen_address *ret,
                struct error *err)
{
    const char *colon = strrchr(text, ':');
    struct address address;
    struct str host;
    int64_t port;

    if (colon == NULL || !str_to_int(str_of(colon + 1), &port) || port < 0 || port > 65535)
        return err_set(err, ERR_INVALID,
                       "%s: '%s' is not an address and a port from 0 to 65535: give one such as "
                       "127.0.0.1:8080, [::1]:8080, localhost:8080 or :8080",
                       setting, text);
    host = str_from(text, (size_t)(colon - text));
    if (host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']')
        host = str_from(host.data + 1, host.len - 2);
    if (host.len == 0)
        host = STR_LIT("0.0.0.0");
    else if (str_eq(host, STR_LIT("localhost")))
        host = STR_LIT("127.0.0.1");
    if (host.len >= sizeof(ret->host) || !address_parse(host, &address))
        return err_set(err, ERR_INVALID,
                       "%s: '%.*s' in '%s' is not an address: give a numeric one, such as "
                       "127.0.0.1 or [::1], or localhost",
                       setting, STR_ARG(host), text);
    (void)snprintf(ret->host, sizeof(ret->host), "%.*s", STR_ARG(host));
    ret->port = (unsigned)port;
    return 0;
}

/* The address as bytes; an address that was read can be parsed. */
static struct address bytes_of(const struct listen_address *at)
{
    struct address address = { 0 };

    (void)address_parse(str_of(at->host), &address);
    return address;
}

bool listen_is_all(const struct listen_address *at)
{
    const struct address address = bytes_of(at);
    static const uint8_t zeros[sizeof(address.bytes)];

    return memcmp(address.bytes, zeros, sizeof(zeros)) == 0;
}

bool listen_collide(const struct listen_address *a, const struct listen_address *b)
{
    const struct address x = bytes_of(a), y = bytes_of(b);
    const bool is_x_all = listen_is_all(a), is_y_all = listen_is_all(b);

    if (a->port == 0 || a->port != b->port)
        return false;
    if (x.family == y.family)
        return is_x_all || is_y_all || address_equal(&x, &y);
    return x.family == ADDRESS_V6 ? is_x_all : is_y_all;
}

bool listen_is_local(const struct listen_address *at)
{
    static const uint8_t v6_loopback[16] = { [15] = 1 };
    const struct address address = bytes_of(at);

    return listen_is_all(at) || (address.family == ADDRESS_V4 && address.bytes[0] == 127) ||
           (address.family == ADDRESS_V6 && memcmp(address.bytes, v6_loopback, 16) == 0);
}

struct str listen_url(const struct listen_address *at, bool secure, char room[LISTEN_URL_MAX])
{
    const bool v6 = strchr(at->host, ':') != NULL, all = listen_is_all(at);
    int n = snprintf(room, LISTEN_URL_MAX, "%s://%s%s%s:%u", secure ? "https" : "http",
                     v6 && !all ? "[" : "", all ? "localhost" : at->host, v6 && !all ? "]" : "",
                     at->port);

    return str_from(room, (size_t)n);
}
