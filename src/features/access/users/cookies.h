/* cookies.h - sessions as browsers see them: the cookie, and what keeps other sites from using it.
 *
 * The cookie is 256 random bits. The token that must come with every change is
 * made of it by a hash, so that it needs no storage and does not give the
 * cookie away.
 */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct api_call;

/* The cookie that came with the request; STR_NULL: none. */
struct str session_cookie(const struct api_call *call);

/* A new cookie, sent with the reply; its digest is what is stored. */
struct sha256 session_begin(struct api_call *call);

/* The reply deletes the cookie. */
void session_forget(struct api_call *call);

/* The token that belongs to call->cookie; in the arena. */
struct str session_csrf_token(struct api_call *call);

/* Did this very site make the request, as far as the browser says? Fails with 403. */
int session_check_origin(struct api_call *call, struct error *err) MUST_CHECK;

/* A user's change must come from this site and carry the session's token; anything else passes.
 * Fails with 403. */
int session_check(struct api_call *call, struct error *err) MUST_CHECK;
