/* lookup.h - what addresses a name leads to, asked without holding up whoever asks.
 *
 * Each is looked up once, on a thread of its own that ends by itself: nobody can
 * stop the system's resolver, which may take half a minute. Who does not want to
 * wait any more leaves it.
 *
 * One thread at a time for each lookup.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"

struct addrinfo;
struct lookup;

/* The lookup's thread: it is done. Not called after lookup_free(). */
typedef void lookup_wake_fn(void *ctx);

/* Begins at once. The caller owns it. */
struct lookup *lookup_new(struct str host, struct str port, lookup_wake_fn *wake, void *ctx);

bool lookup_is_done(struct lookup *l);

/* Once it is done: all addresses, as long as the lookup lives; NULL when there are none, and why.
 */
const struct addrinfo *lookup_found(const struct lookup *l, const char **ret_why);

/* NULL is fine. */
void lookup_free(struct lookup *l);
