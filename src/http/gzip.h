/* gzip.h - replies that clients accept compressed. Any thread. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"

struct http_request;

/* Does the client accept gzip? */
bool http_accepts_gzip(const struct http_request *request);

/* Compresses the body in place. Leaves it unchanged and returns false when it is too small to be
 * worth it, too large to compress within a few milliseconds, does not shrink to half, or when
 * memory is short. */
bool http_gzip(struct buf *body);
