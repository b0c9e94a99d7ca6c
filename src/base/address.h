/* address.h - a client's address, and networks written as prefixes.
 *
 * One type for every place that counts, compares or logs addresses, so that they
 * agree: an IPv4 address written as IPv6 (::ffff:192.0.2.1) is that IPv4 address,
 * and all of an IPv6 /64 counts as one caller, since one client has all of it.
 *
 * Thread-safe: values only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct sockaddr;

enum address_family {
    ADDRESS_NONE, /* not of a network: a unix socket, the same process */
    ADDRESS_V4,
    ADDRESS_V6,
};

/* IPv4 has its four bytes first; unused bytes are 0, so that equal addresses have equal bytes. */
struct address {
    enum address_family family;
    uint8_t bytes[16];
};

enum { ADDRESS_CHARS_MAX = 46 }; /* with the NUL */

/* Without a port: "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1". False when it is anything else.
 */
bool address_parse(struct str text, struct address *ret);

/* The same, also with a port: "192.0.2.1:80", "[2001:db8::1]:80", "[2001:db8::1]". */
bool address_parse_peer(struct str text, struct address *ret);

/* ADDRESS_NONE for families other than IPv4 and IPv6. */
struct address address_of(const struct sockaddr *from);

/* 0 for other families. */
unsigned address_port(const struct sockaddr *from);

/* The shortest standard text; empty for ADDRESS_NONE. Lives in `room`. */
struct str address_format(const struct address *a, char room[ADDRESS_CHARS_MAX]);

bool address_equal(const struct address *a, const struct address *b);

/* What counts as one caller: an IPv4 address, or the /64 of an IPv6 address. */
struct address address_network(const struct address *a);

/* As bytes, for maps and hashes. Borrowed. */
struct str address_bytes(const struct address *a);

/* A network: the first `bits` of the address. */
struct address_prefix {
    struct address address;
    unsigned bits;
};

struct address_list {
    const struct address_prefix *items;
    size_t n;
};

/* "192.0.2.1, 10.0.0.0/8, 2001:db8::/32": addresses and prefixes, separated by commas; blank: none.
 * Lives in the arena. ERR_INVALID says which one is wrong, and why. */
int address_list_parse(struct str text, struct arena *arena, struct address_list *ret,
                       struct error *err) MUST_CHECK;

/* Is the address one of them, or in one of them? */
bool address_list_has(const struct address_list *list, const struct address *a);

/* URLs in settings: a scheme, a host and perhaps a port. */

/* "muster.example.com", "192.0.2.1:8443", "[2001:db8::1]:80": a host name, which may be in
 * capitals, or an address, perhaps with a port from 1 to 65535; nothing else. */
bool url_is_host(struct str text);

/* Is it one of `schemes`, separated by spaces, then "://" and url_is_host()? */
bool url_is_plain(struct str url, const char *schemes);
