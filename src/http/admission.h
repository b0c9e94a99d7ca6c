/* admission.h - how many connections there are, in all and from each address.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>

#include "base/lock.h"
#include "base/map.h"
#include "http/exchange.h"
#include "http/server.h"

enum { ADDRESS_KEY_LEN = 16 };

struct http_admission {
    struct http_limits limits;
    struct http_budget bodies;
    atomic_uint total;
    atomic_uint streams; /* open ones */
    struct lock lock;
    struct map addresses GUARDED_BY(lock); /* key -> how many connections */
};

void http_admission_init(struct http_admission *a, const struct http_limits *limits);
void http_admission_done(struct http_admission *a);

/* Counts a connection in; false when it is one too many, and then it is not counted. The operator
 * is never one too many: whoever must mend an overloaded server has to get in. */
bool http_admission_enter(struct http_admission *a, const uint8_t key[ADDRESS_KEY_LEN],
                          enum http_peer kind);

void http_admission_leave(struct http_admission *a, const uint8_t key[ADDRESS_KEY_LEN],
                          enum http_peer kind);
