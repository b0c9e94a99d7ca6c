/* target.h - allowed webhook targets: the public internet, never our own network.
 *
 * A URL is checked when it is set, for a clear error; the check that counts is that of every
 * address when connecting, because a name may resolve to anything by then.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"

struct sockaddr;

/* Exceptions that an operator may allow, for local use. */
struct target_rules {
    bool allow_http;
    bool allow_private; /* any address and any port */
};

/* NULL when the URL may be used, as far as can be known without resolving its name; otherwise a
 * sentence that says what is wrong. */
const char *target_check_url(struct str url, const struct target_rules *rules);

/* May we connect to this address? */
bool target_is_public(const struct sockaddr *address);
