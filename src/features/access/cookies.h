/* cookies.h - the session cookie, and protection against requests from other sites.
 *
 * The cookie is 256 random bits. The CSRF token that every change must carry is
 * a hash of it, so that it needs no storage and does not reveal the cookie.
 */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct api_call;

/* A cookie by its two names: browsers accept the first, with the prefix __Host-, only over TLS, for
 * this host and all its paths. */
struct cookie {
    struct str secure_name, plain_name;
};

/* The request's, or STR_NULL. */
struct str cookie_value(const struct api_call *call, const struct cookie *cookie);

/* Sent with the reply, for this site's own requests alone; `more`: further attributes. */
void cookie_set(struct api_call *call, const struct cookie *cookie, struct str value,
                const char *more);

/* The request's session cookie, or STR_NULL. */
struct str session_cookie(const struct api_call *call);

/* A new cookie, sent with the reply; its digest is what is stored. */
struct sha256 session_begin(struct api_call *call);

/* The reply deletes the cookie. */
void session_forget(struct api_call *call);

/* The CSRF token of call->cookie; in the arena. */
struct str session_csrf_token(struct api_call *call);

/* Does the request come from this site, according to the browser? Fails with 403. */
int session_check_origin(struct api_call *call, struct error *err) MUST_CHECK;

/* A user's change must come from this site and carry the session's token; anything else passes,
 * and what carries a token that no browser adds by itself.
 * Fails with 403. */
int session_check(struct api_call *call, struct error *err) MUST_CHECK;
