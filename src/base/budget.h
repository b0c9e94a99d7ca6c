/* budget.h - what callers hold at once, counted at every level.
 *
 * Counters form a tree: the service at the top; below it its tenants, and below
 * a tenant its keys; beside the tenants the pool of open routes, and below it
 * the addresses of callers who have shown no key. Whatever admits work takes
 * from the caller's node, which counts at all levels above it too, and whatever
 * ends gives back. A level's limit is what one of its nodes may hold, so that
 * one tenant's share never is all of the service's.
 *
 * Invariants:
 *  1. A node's count is the sum of its children's and its own.
 *  2. A taker gives back exactly what it took, once, to the same node.
 *  3. A node outlives all that was taken from it and all nodes below it.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/base.h"

enum budget_kind {
    BUDGET_BODY_BYTES,  /* request bodies, received and inflated, until they are answered */
    BUDGET_REPLY_BYTES, /* replies that their clients have not taken yet */
    BUDGET_EVENTS,      /* waiting to be stored */
    BUDGET_WRITER_US,   /* expected microseconds of the writer for what is queued */
    BUDGET_READS,       /* queued or running */
    BUDGET_EXPORTS,     /* running */
    BUDGET_STREAMS,     /* live ones, open */
    BUDGET_CONNECTIONS, /* open */
    BUDGET_PIPELINED,   /* bytes that came while a request of their connection was in progress */
};
enum { BUDGET_KINDS = BUDGET_PIPELINED + 1 };

/* As in metrics and in the answer of /api/v1/limits: "body_bytes", "reads". */
const char *budget_kind_name(enum budget_kind kind);

/* One for all nodes of a level. Limits are set before the first node is used. */
struct budget_level {
    const char *name;                       /* "service", "tenant", "key", "open", "address" */
    int64_t max[BUDGET_KINDS];              /* of each node; 0: no limit here, negative: nothing */
    int64_t kept[BUDGET_KINDS];             /* of max: see budget_grow(), budget_exhausted() */
    _Atomic uint64_t refused[BUDGET_KINDS]; /* takes that this level's limit refused */
};

struct budget {
    struct budget_level *level;
    struct budget *parent; /* NULL: the service */
    _Atomic int64_t used[BUDGET_KINDS];
};

void budget_init(struct budget *b, struct budget_level *level, struct budget *parent);

/* Counts `n` at every level and returns NULL; or at none, and returns the node without room. */
struct budget *budget_try(struct budget *b, enum budget_kind kind, int64_t n) MUST_CHECK;

/* The same for something large that holds `held` already and grows by `n`. It leaves the `kept`
 * part of each level to small takes, unless all others at that level fit into that part: then it
 * may even exceed the limit, so that a thing as large as allowed always fits when it is the only
 * large one. */
struct budget *budget_grow(struct budget *b, enum budget_kind kind, int64_t held,
                           int64_t n) MUST_CHECK;

/* budget_try() for callers that need not know which level has no room: false. */
bool budget_take(struct budget *b, enum budget_kind kind, int64_t n) MUST_CHECK;

/* The same for what must be counted although there may be no room. */
void budget_force(struct budget *b, enum budget_kind kind, int64_t n);

void budget_give(struct budget *b, enum budget_kind kind, int64_t n);

int64_t budget_used(const struct budget *b, enum budget_kind kind);

/* Walks from `b` up and returns the first node whose free room is smaller than `kept`, counting a
 * refusal; NULL: every node has room. For work whose size is known only when it is done: `kept` is
 * then its most. */
struct budget *budget_exhausted(struct budget *b, enum budget_kind kind);

/* The levels and the top of one process's tree. Tenants hang below `service` and keys below their
 * tenant; addresses hang below `open`. */
struct budgets {
    struct budget_level service_level, tenant_level, key_level, open_level, address_level;
    struct budget service;
    struct budget open; /* callers without a key */
};

/* Without limits, which the caller sets in the levels. */
void budgets_init(struct budgets *ret);

/* The levels in the order in which they are shown; NULL after the last. */
struct budget_level *budgets_level(struct budgets *budgets, size_t i);
