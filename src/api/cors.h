/* cors.h - calls of the API by scripts of other web pages (Cross-Origin Resource Sharing).
 *
 * Off unless the setting cors_origins names origins. Such a script sends a key or a personal access
 * token; cookies count for nothing: the service never allows credentials, and refuses a change with
 * a session's cookie that another site made (features/access/auth.h).
 *
 * Thread-safe: the list does not change.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct api_call;
struct http_header;

enum { CORS_ORIGINS_MAX = 32, CORS_HEADERS_MAX = 4 };

struct cors_origins {
    struct str items[CORS_ORIGINS_MAX]; /* such as "https://app.example.com:8443" */
    size_t n;
};

/* Parses the value of the setting, which must stay. ERR_INVALID names what is wrong. */
int cors_read(const char *value, struct cors_origins *ret, struct error *err) MUST_CHECK;

/* The headers that a reply to this call carries for its origin, at most CORS_HEADERS_MAX; returns
 * how many. */
size_t cors_headers(const struct api_call *call, struct http_header *ret);

/* Answers the question of a browser that stands before such a call, if this is one and its origin
 * is in the list; false: it is an ordinary request. */
bool cors_preflight(struct api_call *call);
