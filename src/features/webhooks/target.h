/* target.h - where a webhook may be sent: to the public internet, never into our own network.
 *
 * A URL is checked when it is given, for a clear answer; what counts is the check of every
 * address at the moment of connecting, since a name may lead anywhere by then.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

struct sockaddr;

/* What an operator may let through for local use. */
struct target_rules {
    bool allow_http;
    bool allow_private; /* any address and any port */
};

/* NULL when the URL may be used, as far as that can be told without looking its name up; else a
 * sentence that says what is wrong. */
const char *target_check_url(struct str url, const struct target_rules *rules);

/* Where a URL leads that may be used. */
struct target_place {
    struct str host, port;
    bool is_name; /* and not an address */
};

/* In the arena. */
struct target_place target_place_of(struct str url, struct arena *arena);

/* May we connect to this address? */
bool target_is_public(const struct sockaddr *address);
