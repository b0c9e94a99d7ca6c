/* listen.h - addresses to listen on, as settings name them, and the URL that leads there.
 *
 * Thread-safe: values only.
 */
#pragma once
#include <stdbool.h>

#include "base/address.h"
#include "base/err.h"
#include "base/str.h"

/* "https://[…]:65535" with its NUL. */
enum { LISTEN_URL_MAX = ADDRESS_CHARS_MAX + 24 };

struct listen_address {
    char host[ADDRESS_CHARS_MAX]; /* numeric */
    unsigned port;                /* 0: any free one */
};

/* "127.0.0.1:8080", "[::1]:8080", "localhost:8080", ":8080" (all IPv4 addresses). ERR_INVALID names
 * the setting, the value and what would be right. */
int listen_read(const char *setting, const char *text, struct listen_address *ret,
                struct error *err) MUST_CHECK;

/* "http://127.0.0.1:8080", for all addresses "http://localhost:8080". In `room`. */
struct str listen_url(const struct listen_address *at, bool secure, char room[LISTEN_URL_MAX]);

/* Is it every address of the machine? */
bool listen_is_all(const struct listen_address *at);

/* Does a socket that listens on one keep the other from being bound? "[::]" takes IPv4 clients,
 * too. */
bool listen_collide(const struct listen_address *a, const struct listen_address *b);

/* Does the URL lead to the machine it is opened on, wherever that is? */
bool listen_is_local(const struct listen_address *at);
