/* admission.h - counts connections, in total and per address, against their limits.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>

#include "base/address.h"
#include "base/lock.h"
#include "base/map.h"
#include "http/charge.h"
#include "http/exchange.h"
#include "http/server.h"

/* One for all connections from an address, and for the requests that outlive them. */
struct http_address {
    struct address network; /* by which it is found */
    struct budget budget;   /* of callers there who have shown no key */
    unsigned holders;       /* guarded by the admission's lock */
};

struct http_admission {
    struct http_limits limits;
    struct budgets *budgets;
    struct budgets unlimited;          /* when the options bring none */
    const struct address_list *exempt; /* NULL: none */
    struct http_bodies bodies;
    atomic_uint streams; /* open ones */
    struct lock lock;
    struct map addresses GUARDED_BY(lock); /* network -> struct http_address */
};

void http_admission_init(struct http_admission *a, const struct http_options *options,
                         void (*wake)(struct http_charge *evicted));
void http_admission_done(struct http_admission *a);

/* Counts a connection; false, without counting, when a limit is reached. The operator is always
 * admitted, so that an overloaded server can be repaired. *ret is the address that it counts for;
 * NULL: none, since the peer is the operator or exempt. */
bool http_admission_enter(struct http_admission *a, const struct address *from, enum http_peer kind,
                          struct http_address **ret);

/* Gives back what http_admission_enter() gave. */
/* Counts bytes that the connection keeps for later, by its address. False when there is no room,
 * and they do not have to be kept. */
bool http_admission_keep(struct http_admission *a, struct http_address *address, size_t n,
                         bool must) MUST_CHECK;
void http_admission_kept(struct http_admission *a, struct http_address *address, size_t n);

void http_admission_leave(struct http_admission *a, struct http_address *address,
                          enum http_peer kind);

/* An address that a proxy has named, kept until http_admission_release(). */
struct http_address *http_admission_find(struct http_admission *a, const struct address *from);

/* Keeps an address for a request that outlives its connection, and lets it go. NULL is fine. */
void http_admission_hold(struct http_admission *a, struct http_address *address);
void http_admission_release(struct http_admission *a, struct http_address *address);
