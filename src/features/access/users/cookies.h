/* cookies.h - sessions as browsers see them: the cookie, and what keeps other sites from using it.
 *
 * The cookie is 256 random bits. The token that must come with every change is
 * made of it by a hash, so that it needs no storage and does not give the
 * cookie away.
 */
#pragma once
#include <stdbool.h>

#include "base/digest.h"
#include "base/str.h"

struct api_call;

/* The cookie that came with the request; STR_NULL: none. */
struct str session_cookie(const struct api_call *call);

/* A new cookie, sent with the reply; its digest is what is stored. */
struct sha256 session_begin(struct api_call *call);

/* The reply takes the cookie away. */
void session_forget(struct api_call *call);

/* The token that belongs to call->cookie; in the arena. */
struct str session_csrf_token(struct api_call *call);

/* Did this very site make the request, as far as the browser tells? False when it has answered
 * 403. */
bool session_check_origin(struct api_call *call);

/* A person's change was made by this site and has the session's token; anything else passes. False
 * when it has answered 403. */
bool session_check(struct api_call *call);
