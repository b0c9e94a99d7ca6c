/* address.c - reads, writes and compares addresses. */
#include "base/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { V4_BITS = 32, V6_BITS = 128, MAPPED_BITS = 96, NETWORK_BYTES = 8 };

static_assert(ADDRESS_CHARS_MAX >= INET6_ADDRSTRLEN, "every address fits");

static struct address from_v4(const void *bytes)
{
    struct address a = { .family = ADDRESS_V4 };

    memcpy(a.bytes, bytes, sizeof(struct in_addr));
    return a;
}

static struct address from_v6(const struct in6_addr *v6)
{
    struct address a = { .family = ADDRESS_V6 };

    if (IN6_IS_ADDR_V4MAPPED(v6))
        return from_v4(v6->s6_addr + MAPPED_BITS / 8);
    memcpy(a.bytes, v6->s6_addr, sizeof(v6->s6_addr));
    return a;
}

/* *ret_mapped: IPv4 written as IPv6. */
static bool parse(struct str text, struct address *ret, bool *ret_mapped)
{
    char copy[ADDRESS_CHARS_MAX];
    struct in6_addr v6;
    struct in_addr v4;

    *ret_mapped = false;
    if (text.len == 0 || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (strlen(copy) != text.len)
        return false;
    if (inet_pton(AF_INET, copy, &v4) == 1) {
        *ret = from_v4(&v4);
        return true;
    }
    if (inet_pton(AF_INET6, copy, &v6) != 1)
        return false;
    *ret = from_v6(&v6);
    *ret_mapped = ret->family == ADDRESS_V4;
    return true;
}

bool address_parse(struct str text, struct address *ret)
{
    bool mapped;

    return parse(text, ret, &mapped);
}

static bool is_port(struct str s)
{
    int64_t port;

    return str_to_int(s, &port) && port >= 0 && port <= UINT16_MAX;
}

bool address_parse_peer(struct str text, struct address *ret)
{
    struct str rest = text, host;

    if (address_parse(text, ret))
        return true;
    if (text.len > 0 && text.data[0] == '[') {
        rest = str_from(text.data + 1, text.len - 1);
        host = str_split(&rest, ']');
        if (str_is_null(rest) || (rest.len > 0 && rest.data[0] != ':') ||
            (rest.len > 0 && !is_port(str_from(rest.data + 1, rest.len - 1))))
            return false;
        return address_parse(host, ret);
    }
    host = str_split(&rest, ':');
    return is_port(rest) && address_parse(host, ret) && ret->family == ADDRESS_V4;
}

struct address address_of(const struct sockaddr *from)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (from->sa_family == AF_INET) {
        memcpy(&v4, from, sizeof(v4));
        return from_v4(&v4.sin_addr);
    }
    if (from->sa_family == AF_INET6) {
        memcpy(&v6, from, sizeof(v6));
        return from_v6(&v6.sin6_addr);
    }
    return (struct address){ .family = ADDRESS_NONE };
}

/* Both families have it at the same place. */
unsigned address_port(const struct sockaddr *from)
{
    struct sockaddr_in v4;

    static_assert(offsetof(struct sockaddr_in, sin_port) ==
                      offsetof(struct sockaddr_in6, sin6_port),
                  "the port of either family");
    if (from->sa_family != AF_INET && from->sa_family != AF_INET6)
        return 0;
    memcpy(&v4, from, sizeof(v4));
    return ntohs(v4.sin_port);
}

struct str address_format(const struct address *a, char room[ADDRESS_CHARS_MAX])
{
    room[0] = '\0';
    if (a->family != ADDRESS_NONE)
        ASSERT_ALWAYS(inet_ntop(a->family == ADDRESS_V4 ? AF_INET : AF_INET6, a->bytes, room,
                                ADDRESS_CHARS_MAX) != NULL);
    return str_of(room);
}

bool address_equal(const struct address *a, const struct address *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

struct address address_network(const struct address *a)
{
    struct address network = *a;

    if (a->family == ADDRESS_V6)
        memset(network.bytes + NETWORK_BYTES, 0, sizeof(network.bytes) - NETWORK_BYTES);
    return network;
}

struct str address_bytes(const struct address *a)
{
    static_assert(sizeof(*a) == sizeof(a->family) + sizeof(a->bytes), "no padding to compare");

    return str_from((const char *)a, sizeof(*a));
}

static bool is_in(const struct address_prefix *p, const struct address *a)
{
    const unsigned whole = p->bits / 8, rest = p->bits % 8;
    const uint8_t mask = (uint8_t)(0xffU << (8 - rest));

    if (p->address.family != a->family || memcmp(p->address.bytes, a->bytes, whole) != 0)
        return false;
    return rest == 0 || ((p->address.bytes[whole] ^ a->bytes[whole]) & mask) == 0;
}

bool address_list_has(const struct address_list *list, const struct address *a)
{
    for (size_t i = 0; i < list->n; i++)
        if (is_in(&list->items[i], a))
            return true;
    return false;
}

/* Are all bits after the prefix 0? */
static bool is_network(const struct address_prefix *p)
{
    for (unsigned bit = p->bits; bit < V6_BITS; bit++)
        if ((p->address.bytes[bit / 8] & (0x80U >> bit % 8)) != 0)
            return false;
    return true;
}

static int parse_prefix(struct str text, struct address_prefix *ret, struct error *err)
{
    struct str length = text, address = str_split(&length, '/');
    int64_t bits, max, mapped_bits;
    bool mapped;

    if (!parse(address, &ret->address, &mapped))
        return err_set(err, ERR_INVALID,
                       "'%.*s' is not an address such as 192.0.2.1 or 2001:db8::1, or a network "
                       "such as 10.0.0.0/8",
                       STR_ARG(text));
    max = ret->address.family == ADDRESS_V4 ? V4_BITS : V6_BITS;
    mapped_bits = mapped ? MAPPED_BITS : 0;
    bits = max + mapped_bits;
    if (!str_is_null(length) && (!str_to_int(length, &bits) || length.data[0] == '-' ||
                                 bits < mapped_bits || bits > max + mapped_bits))
        return err_set(err, ERR_INVALID, "'%.*s': the prefix length goes from %lld to %lld",
                       STR_ARG(text), (long long)mapped_bits, (long long)max + mapped_bits);
    ret->bits = (unsigned)(bits - mapped_bits);
    if (!is_network(ret))
        return err_set(err, ERR_INVALID, "'%.*s' has bits set after its prefix of %lld",
                       STR_ARG(text), (long long)bits);
    return 0;
}

int address_list_parse(struct str text, struct arena *arena, struct address_list *ret,
                       struct error *err)
{
    struct str rest = text;
    struct address_prefix *items;
    size_t room = 1;

    *ret = (struct address_list){ 0 };
    if (str_trim(text).len == 0)
        return 0;
    for (size_t i = 0; i < text.len; i++)
        room += text.data[i] == ',';
    items = ARENA_ARRAY(arena, struct address_prefix, room);
    while (!str_is_null(rest)) {
        assert(ret->n < room);
        if (parse_prefix(str_trim(str_split(&rest, ',')), &items[ret->n], err) != 0)
            return -1;
        ret->n++;
    }
    ret->items = items;
    return 0;
}

/* URLs of settings */

enum { HOST_CHARS_MAX = 253, LABEL_CHARS_MAX = 63 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_url_port(struct str port)
{
    return port.len <= 5 && is_port(port) && port.data[0] != '0' && is_digit(port.data[0]);
}

/* Letters, digits, hyphens and underscores, which some names have; no hyphen at an end. */
static bool is_label(struct str label)
{
    for (size_t i = 0; i < label.len; i++) {
        const char c = label.data[i], lower = (char)(c | 0x20);

        if (!is_digit(c) && (lower < 'a' || lower > 'z') && c != '-' && c != '_')
            return false;
    }
    return label.len > 0 && label.len <= LABEL_CHARS_MAX && label.data[0] != '-' &&
           label.data[label.len - 1] != '-';
}

static bool is_number(struct str label)
{
    size_t n = 0;

    while (n < label.len && is_digit(label.data[n]))
        n++;
    return n == label.len;
}

/* A name whose last label is a number is taken for an IPv4 address everywhere. */
static bool is_name(struct str name)
{
    struct str rest = name, last = STR_NULL;
    struct address address;

    while (!str_is_null(rest)) {
        last = str_split(&rest, '.');
        if (!is_label(last))
            return false;
    }
    if (!is_number(last))
        return name.len <= HOST_CHARS_MAX;
    return address_parse(name, &address) && address.family == ADDRESS_V4;
}

static bool is_v6(struct str host)
{
    struct address address;

    return address_parse(host, &address) && memchr(host.data, ':', host.len) != NULL;
}

bool url_is_host(struct str text)
{
    const bool bracketed = text.len > 0 && text.data[0] == '[';
    struct str rest = bracketed ? str_from(text.data + 1, text.len - 1) : text;
    const struct str host = str_split(&rest, bracketed ? ']' : ':');

    if (!bracketed)
        return is_name(host) && (str_is_null(rest) || is_url_port(rest));
    if (str_is_null(rest) || !is_v6(host))
        return false;
    return rest.len == 0 ||
           (rest.data[0] == ':' && is_url_port(str_from(rest.data + 1, rest.len - 1)));
}

bool url_is_plain(struct str url, const char *schemes)
{
    static const struct str mark = STR_INIT("://");
    struct str rest = str_of(schemes);

    while (!str_is_null(rest)) {
        const struct str scheme = str_split(&rest, ' ');
        struct str after;

        if (!str_starts(url, scheme))
            continue;
        after = str_from(url.data + scheme.len, url.len - scheme.len);
        if (str_starts(after, mark))
            return url_is_host(str_from(after.data + mark.len, after.len - mark.len));
    }
    return false;
}
