/* charge.h - what one exchange holds of the budgets, and who must make room for it.
 *
 * A body counts as it arrives, a reply until its client has taken it. A body
 * that has not arrived completely can lose its room: when another body finds no
 * room, the slowest of the caller that holds most is evicted. Its bytes
 * stop counting at once; its loop then refuses it and frees them.
 *
 * Invariants:
 *  1. A charge belongs to the thread that has its exchange; others touch it only
 *     under the lock of `bodies`, while it is listed there.
 *  2. It is listed only while its body is incomplete and holds bytes, and only
 *     on the loop that receives it.
 */
#pragma once
#include <stdbool.h>

#include "base/budget.h"
#include "base/lock.h"

struct http_bodies;

/* What of a body counts as small, and may use the room that large ones leave. */
enum { HTTP_SMALL_BODY = 64 * 1024 };

/* What the client of an evicted body is told. */
#define HTTP_EVICTED                                                                               \
    "This body arrived too slowly while other requests needed its room; retry later"

struct http_charge {
    struct budget *budget;      /* of the caller; NULL: nothing is counted */
    struct http_bodies *bodies; /* NULL: its body is never listed */
    int64_t reply;              /* bytes counted for the reply */
    int64_t body;               /* for the body; while listed, `bodies` guards it */
    const struct budget *full;  /* why there was no room; NULL: there was, or it was evicted */
    bool listed;                /* as far as its own thread knows */

    /* The list's. */
    struct http_charge *previous, *next;
    int64_t stepped_us, step; /* when it last had another HTTP_SMALL_BODY, and its bytes then */
    bool evicted;
};

/* Incomplete bodies of all loops. Thread-safe. */
struct http_bodies {
    struct lock lock;
    struct http_charge *first GUARDED_BY(lock), *last GUARDED_BY(lock); /* by their last step */
    void (*wake)(struct http_charge *evicted); /* any thread; under the lock */
};

void http_bodies_init(struct http_bodies *bodies, void (*wake)(struct http_charge *evicted));
void http_bodies_done(struct http_bodies *bodies);

/* Counts `n` more bytes of the body. False when there is no room, or it was evicted. */
bool http_charge_body(struct http_charge *c, size_t n) MUST_CHECK;

/* The body holds `n` bytes less. */
void http_charge_shrink_body(struct http_charge *c, size_t n);

/* More of the body is awaited: from here on it may be evicted. */
void http_charge_list(struct http_charge *c, int64_t now_us);

/* The body is complete, or not wanted any more. False when it was evicted before. */
bool http_charge_unlist(struct http_charge *c);

bool http_charge_is_evicted(struct http_charge *c);

/* Counts the reply: NULL, or the node without room. */
const struct budget *http_charge_reply(struct http_charge *c, size_t n);

/* A reply of this size waits for its client: counts what of it was not counted yet. */
void http_charge_waiting(struct http_charge *c, size_t n);

/* Gives back what the body holds, or everything. */
void http_charge_drop_body(struct http_charge *c);
void http_charge_drop(struct http_charge *c);
