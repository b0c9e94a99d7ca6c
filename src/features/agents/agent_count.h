/* agent_count.h - how many agents a tenant has, kept instead of counted, against its cap.
 *
 * 1. Only one transaction at a time adds agents to a tenant: it locks a row of
 *    the tenant's first, before rows of agents.
 * 2. The count is never below the number of agents that are not deleted. It may
 *    be above it, so an agent is refused by the rows alone.
 *
 * The row and the count are those of the tenant. Where Citus distributes the
 * database, these are on all servers: a transaction that changed them would take
 * two phases, and need all servers. There the count has a row in agent_counts,
 * and what is locked is the row that corrects the tenant's stored bytes
 * (stored_bytes.c), both on the tenant's own server.
 *
 * The version before this one does not keep agent_counts. But it updates the
 * row that it locks, and this one does not: the row's xmin, the number of the
 * transaction that wrote it, shows whether agents may have been added since they
 * were counted. They are then counted again, as they are after whatever else wrote
 * that row, such as Citus when it moved the tenant to another server.
 *
 * In transactions.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;

struct agent_count {
    int64_t max, used;
    int64_t lock_xmin; /* on Citus */
};

/* Locks a tenant's count until the transaction ends, and reads it. */
int agent_count_lock(struct db *db, int64_t tenant_id, struct agent_count *ret,
                     struct error *err) MUST_CHECK;

/* Before an agent is refused: sets `used` by the rows. */
int agent_count_rows(struct db *db, int64_t tenant_id, struct agent_count *c,
                     struct error *err) MUST_CHECK;

/* An agent is added, or with -1 deleted. */
int agent_count_add(struct db *db, int64_t tenant_id, struct agent_count *c, int more,
                    struct error *err) MUST_CHECK;

/* Counts the agents of all tenants, for Citus. Others may write meanwhile: they are counted once
 * more when a tenant gets its next agent. */
int agent_count_all(struct db *db, struct error *err) MUST_CHECK;

/* A tenant that has more agents than it is counted for. False: this was the last that is wanted. */
typedef bool agent_count_low_fn(void *ctx, int64_t tenant_id, int64_t counted, int64_t there);

/* Looks at all tenants for such as break 2. Others may write meanwhile. */
int agent_count_check(struct db *db, agent_count_low_fn *on_low, void *ctx,
                      struct error *err) MUST_CHECK;
