/* agent_cache.h - what a process knows of each agent: whether it may report, and when it was seen.
 *
 * An entry is created at an agent's first report and lives as long as the process: agents are
 * bounded by the plans. The names under which a writer finds them without a query are its own
 * (admit.c).
 *
 * Everything received from an agent counts as a sighting, also what is rejected or could not be
 * stored. A sighting costs a write to memory; the times are stored every two seconds in one
 * transaction, so that ingest does not pay for them. An agent's first sighting, and the one that
 * ends a silence, is stored with the report that brought it. So after a crash the stored times are
 * a few seconds behind, but no first sighting and no recovery is lost.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "features/agents/agents.h"

struct agent_entry; /* one per agent; freed by agent_cache_free() */
struct txn;
struct writer;

/* Is `at` later than `than`, which may be wrong? */
static inline bool sighting_is_later(int64_t at, int64_t than, int64_t now)
{
    int64_t most = now + SIGHTING_AHEAD_US;

    return at > than || (than > most && at <= most);
}

/* Writer thread, in the transaction that stores the sightings. */
typedef int sightings_fn(struct txn *txn, const struct sighting *sightings, size_t n,
                         struct error *err);

struct agent_cache *agent_cache_new(void);

/* NULL is fine. */
void agent_cache_free(struct agent_cache *c);

/* The agent's entry, created when it does not exist. */
struct agent_entry *agent_cache_get(struct agent_cache *c, int64_t tenant_id, int64_t agent_id);

/* The agent was seen at this time of the wall clock. */
void agent_cache_seen(struct agent_cache *c, struct agent_entry *entry, int64_t at);

/* That time was stored with the agent itself, which is new. */
void agent_entry_set_stored(struct agent_entry *entry, int64_t at);

/* When this process last saw the agent; TIME_NULL: not since the start. */
int64_t agent_entry_seen_at(const struct agent_entry *entry);

/* The later of the stored time and the time in memory; TIME_NULL (never) when the stored one is:
 * the time in memory is then from before the agent was deleted. */
int64_t agent_cache_last_seen(struct agent_cache *c, int64_t tenant_id, int64_t agent_id,
                              int64_t stored_at, int64_t now);

/* When this last-seen time was first noticed, by the monotonic clock: for a time that is itself
 * wrong. The first call for a time returns now_us. One thread at a time. */
int64_t agent_entry_noticed_us(struct agent_entry *entry, int64_t at, int64_t now_us);

/* An alert is open, or about to open: store the agent's next sighting at once. The writer that
 * stores it clears the flag. */
void agent_entry_set_urgent(struct agent_entry *entry);
bool agent_entry_take_urgent(struct agent_entry *entry);

/* Sets the function to call with sightings when they are stored. Call before the writer starts. */
void agent_cache_on_sightings(struct agent_cache *c, sightings_fn *fn);
int agent_cache_publish_sightings(struct agent_cache *c, struct txn *txn,
                                  const struct sighting *sightings, size_t n,
                                  struct error *err) MUST_CHECK;

/* Submits new sightings to the writer, unless a save is running. */
void agent_cache_save(struct agent_cache *c, struct writer *writer);

/* The agent was enabled, disabled or deleted: what was read of it when agent_cache_changes() was
 * less than it is after this call no longer holds. Call it after the commit. The second is for all
 * agents: changes may be lost. */
void agent_cache_changed(struct agent_cache *c, int64_t tenant_id, int64_t agent_id);
void agent_cache_all_changed(struct agent_cache *c);

/* Read before an agent is. of_all is never more than n. */
struct agent_changes {
    int64_t n;      /* how many there were */
    int64_t of_all; /* which of them was the last for all agents */
};
struct agent_changes agent_cache_changes(const struct agent_cache *c);

/* Does what was read of this agent after that number of changes still hold? */
bool agent_entry_holds(const struct agent_entry *entry, int64_t read_no);

/* Whether the agent may report: all writers of a process go by what was read after the most
 * changes, whichever of them read it. */
void agent_entry_set_enabled(struct agent_entry *entry, bool enabled, int64_t read_no);
bool agent_entry_is_enabled(const struct agent_entry *entry);

/* With Citus the agent's row is on one server and the number of its change on every one, and a
 * commit reaches them one after the other: usually within milliseconds, at worst a minute after a
 * lost server is back. So a changed agent is changed again, once a second, until the commit has
 * reached all servers; all agents are after ten seconds and after two minutes. */
void agent_cache_recheck(struct agent_cache *c, int64_t tenant_id, int64_t agent_id,
                         int64_t now_us);
void agent_cache_recheck_all(struct agent_cache *c, int64_t now_us);

/* Every second, one thread at a time. While the database is not `healthy` no commit is taken to be
 * complete. */
void agent_cache_tick(struct agent_cache *c, int64_t now_us, bool healthy);

/* When agents are expected has changed, or which; and has it since the last call? */
void agent_cache_set_schedules_changed(struct agent_cache *c);
bool agent_cache_take_schedules_changed(struct agent_cache *c);
