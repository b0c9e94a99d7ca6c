/* url.h - URLs in settings: a scheme, a host and perhaps a port.
 *
 * Thread-safe: values only.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"

/* "muster.example.com", "192.0.2.1:8443", "[2001:db8::1]:80": a host name, which may be in
 * capitals, or an address, perhaps with a port from 1 to 65535; nothing else. */
bool url_is_host(struct str text);

/* Is it one of `schemes`, separated by spaces, then "://" and url_is_host()? */
bool url_is_plain(struct str url, const char *schemes);
