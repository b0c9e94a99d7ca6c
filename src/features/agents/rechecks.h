/* rechecks.h - agents that are looked up again for a while after they have changed.
 *
 * With Citus an agent's row is on one server, and the number that tells of its change is on every
 * one. A commit comes to them one after the other, and a server that is lost in between completes
 * it when Citus looks for such commits (citus.recover_2pc_interval: every minute). So a process
 * that has heard of a change may read the agent as it was before, and must not keep that for good:
 * it looks again until the commit has come to all of them.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"

struct last_seen;
struct rechecks;

struct rechecks *rechecks_new(void);

/* NULL is fine. */
void rechecks_free(struct rechecks *r);

/* This process has heard at that time, of the monotonic clock, that the agent has changed; or that
 * any may have. */
void rechecks_add(struct rechecks *r, int64_t tenant_id, int64_t agent_id, int64_t now_us);
void rechecks_add_all(struct rechecks *r, int64_t now_us);

/* Has writers look up again what was added lately. Call it every second or so, one thread at a
 * time. While the database is not `healthy` no commit is taken to be complete. */
void rechecks_tick(struct rechecks *r, struct last_seen *last_seen, int64_t now_us, bool healthy);
