/* gzip.h - replies that clients accept compressed. Any thread. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"

struct http_request;

/* Does the client accept gzip? */
bool http_accepts_gzip(const struct http_request *request);

/* Replaces the bytes by their gzip form. Left as they are when they are so few that it saves next
 * to nothing, more than a loop can do in some milliseconds, or when memory is short. Returns
 * whether it did. */
bool http_gzip(struct buf *body);
