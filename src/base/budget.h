/* budget.h - what callers hold at once, counted at every level.
 *
 * Counters form a tree: the service at the top, below it its tenants and the
 * addresses of callers who are not known yet, below a tenant its keys. Whatever
 * admits work takes from the caller's node, which counts at all levels above it
 * too, and whatever ends gives back. A level's limit is what one of its nodes
 * may hold, so that one tenant's share never is all of the service's.
 *
 * Invariants:
 *  1. A node's count is the sum of its children's and its own.
 *  2. What was taken is given back exactly, once, to the same node.
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
};
enum { BUDGET_KINDS = BUDGET_CONNECTIONS + 1 };

/* As in metrics and in the answer of /api/v1/limits: "body_bytes", "reads". */
const char *budget_kind_name(enum budget_kind kind);

/* One for all nodes of a level. Limits are set before the first node is used. */
struct budget_level {
    const char *name;                       /* "service", "tenant", "key", "address" */
    int64_t max[BUDGET_KINDS];              /* of each node; 0: no limit at this level */
    _Atomic uint64_t refused[BUDGET_KINDS]; /* takes that this level's limit refused */
};

struct budget {
    struct budget_level *level;
    struct budget *parent; /* NULL: the service */
    _Atomic int64_t used[BUDGET_KINDS];
};

void budget_init(struct budget *b, struct budget_level *level, struct budget *parent);

/* Counts `n` at every level, or at none: false when a level has no room. */
bool budget_take(struct budget *b, enum budget_kind kind, int64_t n) MUST_CHECK;

/* The same for what must be counted although there may be no room. */
void budget_force(struct budget *b, enum budget_kind kind, int64_t n);

void budget_give(struct budget *b, enum budget_kind kind, int64_t n);

int64_t budget_used(const struct budget *b, enum budget_kind kind);

/* The levels and the top of one process's tree. Tenants and addresses hang below `service`, keys
 * below their tenant. */
struct budgets {
    struct budget_level service_level, tenant_level, key_level, address_level;
    struct budget service;
};

/* Without limits, which the caller sets in the levels. */
void budgets_init(struct budgets *ret);
