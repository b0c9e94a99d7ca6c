/* lookup.h - resolves a host name to addresses without blocking the caller.
 *
 * Each lookup runs on its own thread, which ends by itself: the system's
 * resolver may take half a minute and cannot be interrupted. A caller that
 * stops waiting frees its lookup.
 *
 * One thread at a time per lookup.
 */
#pragma once
#include "base/str.h"

struct addrinfo;
struct lookup;

/* Called on the lookup's thread when it is done; not after lookup_free(). */
typedef void lookup_wake_fn(void *ctx);

/* Starts at once. The caller owns it. */
struct lookup *lookup_new(struct str host, struct str port, lookup_wake_fn *wake, void *ctx);

bool lookup_is_done(struct lookup *l);

/* Once it is done: all addresses, valid as long as the lookup lives; NULL and *ret_why when there
 * are none. */
const struct addrinfo *lookup_found(const struct lookup *l, const char **ret_why);

/* NULL is fine. */
void lookup_free(struct lookup *l);
