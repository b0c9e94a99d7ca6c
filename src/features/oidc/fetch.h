/* fetch.h - one request to the identity provider, bounded in time and size. Blocks. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum { FETCH_REPLY_MAX = 256 << 10, FETCH_TIMEOUT_MS = 10000, FETCH_CONNECT_MS = 5000 };

struct fetch {
    const char *url;
    const char *form;            /* body of a POST; NULL: GET */
    const char *user, *password; /* Basic authentication; NULL: none */
    const char *bearer;          /* access token; NULL: none */
    const atomic_bool *cancel;   /* true: end at once; NULL: never */
};

/* May the service ask this URL: https, or http on this machine? */
bool fetch_is_allowed(struct str url);

/* Appends the body to `ret`, which the caller has initialized with FETCH_REPLY_MAX. Redirects are
 * not followed. ERR_UNAVAILABLE: there was no whole answer. */
int fetch_run(const struct fetch *fetch, struct buf *ret, int *ret_status,
              struct error *err) MUST_CHECK;
