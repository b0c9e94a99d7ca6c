/* auth.h - authentication and authorization of callers. */
#pragma once
#include <stdbool.h>

#include "base/address.h"
#include "base/base.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "features/access/shapes.h"

struct api_call;
struct key_entry;
struct session_user;

/* Who calls. */
struct caller {
    const struct key_entry *key; /* NULL: open route, a user, or the operator */
    struct session_user *user;   /* signed in; NULL: a key, the operator, or unknown */
    struct str cookie;           /* of that user's session; STR_NULL: none was sent */
    bool personal;               /* that user sent a personal access token, not a cookie */
    bool unknown_token;          /* well-formed token or cookie, but not (yet) known here */
    struct sha256 digest;        /* of that token or cookie */
};
struct engine;
struct token_guess_limiter;

/* Any thread. */
struct token_guess_limiter *access_token_guesses(const struct engine *e);

/* The API's hooks that this feature implements; see api.h. */
extern const struct api_hooks access_hooks;

/* Finds the key behind the token, the user behind the cookie, or the operator. A request with an
 * Authorization header counts as a key's, whatever cookies it has. A well-formed token or cookie
 * that is not known here sets call->caller->unknown_token; key_check() of hooks.c continues from
 * there. */
int auth_identify(struct api_call *call, struct error *err) MUST_CHECK;

/* Looks up the digest of the token or cookie again; true when it is known now. */
bool auth_look_up(struct api_call *call);

/* May the caller use this route and the path's tenant? Fails with 403 or 404. */
int auth_authorize(struct api_call *call, struct error *err) MUST_CHECK;

/* May the key report, or pull, for this tenant (STR_NULL: its own) under this agent's name? Fails
 * with 403. */
int auth_may_report(struct api_call *call, struct str client_id, struct str agent_name,
                    struct error *err) MUST_CHECK;

/* 507: the tenant has reached the quota of its plan. */
int auth_refuse_quota(struct api_call *call, struct error *err) MUST_CHECK;

/* Is the caller an admin of the path's tenant? The operator is. */
bool auth_is_admin(const struct api_call *call);

/* May the caller of a stream have the rest of it? Not once the key was revoked, has expired or is
 * past its grace, the session ended, or the user lost their role. A session is looked up every
 * `period_s`, of which *checked_us (monotonic) keeps count; that does not keep it alive. */
bool auth_may_go_on(const struct api_call *call, int64_t *checked_us, int period_s);

/* The caller's name for the audit log; in the arena. */
struct str auth_actor(const struct api_call *call);

/* The address that the request came from; behind trusted proxies, the client's. ADDRESS_NONE: a
 * unix socket, or a command in this process. */
struct address auth_address(const struct api_call *call);

/* The same as text, in the arena: an address without its port, "unix" or "local". */
struct str auth_origin(struct api_call *call);

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

/* The CSRF token of call->caller->cookie; in the arena. */
struct str session_csrf_token(struct api_call *call);

/* Does the request come from this site, according to the browser? Fails with 403. */
int session_check_origin(struct api_call *call, struct error *err) MUST_CHECK;

/* A user's change must come from this site and carry the session's token; anything else passes,
 * and what carries a token that no browser adds by itself.
 * Fails with 403. */
int session_check(struct api_call *call, struct error *err) MUST_CHECK;

enum { TOKEN_LEN = 7 + 30 + 6, TOKEN_PERSONAL_LEN = TOKEN_LEN + 1 };

/* A new random token, NUL-terminated. */
void token_make(enum token_kind kind, char ret[TOKEN_LEN + 1]);

/* A new personal access token, NUL-terminated. */
void token_make_personal(char ret[TOKEN_PERSONAL_LEN + 1]);

/* Are prefix, length, alphabet and checksum right? A key's token, or a personal one. */
bool token_is_well_formed(struct str token);

/* Is a well-formed token a personal access token? */
bool token_is_personal(struct str token);

enum {
    TOKEN_GUESSES_MAX = 1000,
    TOKEN_GUESSES_WINDOW_S = 60,
    TOKEN_LOOKUPS_MAX = 100
}; /* lookups per second */

struct token_guess_limiter *token_guess_limiter_new(void);

/* NULL is fine. */
void token_guess_limiter_free(struct token_guess_limiter *m);

/* Counts an invalid token from this address; all of an IPv6 /64 counts as one. Returns 0, or the
 * seconds to wait when the address has sent too many. */
int64_t token_guess_count(struct token_guess_limiter *m, const struct address *from);

/* Would the next one be too many? */
bool token_guesses_exceeded(struct token_guess_limiter *m, const struct address *from);

/* May an unknown token be looked up in the database now? Counts as one lookup. */
bool token_guess_may_look_up(struct token_guess_limiter *m);

/* The same where most unknown tokens are expected to be found: counts those that were not. */
bool token_guess_may_miss(struct token_guess_limiter *m);
void token_guess_missed(struct token_guess_limiter *m);
