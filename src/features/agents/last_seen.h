/* last_seen.h - when each agent was last seen: in memory at once, in the store a little later.
 *
 * Everything received from an agent counts as a sighting, also what is rejected
 * or could not be stored. Noting one costs a write to memory; sightings are
 * stored every two seconds in one transaction, so that ingest does not pay for
 * them. An agent's first sighting, and the one that ends a silence, is stored
 * with the report that brought it (admit.h). So after a crash the stored times
 * are a few seconds behind, but no first sighting and no recovery is lost.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct last_seen;
struct last_seen_entry; /* one per agent; freed by last_seen_free() */
struct sighting;
struct txn;
struct writer;

/* Writer thread, in the transaction that stores the sightings. */
typedef int last_seen_fn(struct txn *txn, const struct sighting *sightings, size_t n,
                         struct error *err);

struct last_seen *last_seen_new(void);

/* NULL is fine. */
void last_seen_free(struct last_seen *l);

/* The agent's entry, created when it does not exist. */
struct last_seen_entry *last_seen_get(struct last_seen *l, int64_t tenant_id, int64_t agent_id);

/* The agent was seen at this time of the wall clock. */
void last_seen_note(struct last_seen *l, struct last_seen_entry *entry, int64_t at);

/* It was stored with the agent itself, which is new: need not be saved again. */
void last_seen_set_stored(struct last_seen_entry *entry, int64_t at);

/* The later of the stored time and the time in memory; TIME_NULL (never) when the stored one is:
 * the time in memory is then from before the agent was deleted. */
int64_t last_seen_latest(struct last_seen *l, int64_t tenant_id, int64_t agent_id,
                         int64_t stored_at, int64_t now);

/* When this process saw the agent; TIME_NULL: not since the start. */
int64_t last_seen_at_here(const struct last_seen_entry *entry);

/* When this last-seen time was first noticed, by the monotonic clock: for a time that is itself
 * wrong. The first call for a time returns now_us. One thread at a time. */
int64_t last_seen_noticed_us(struct last_seen_entry *entry, int64_t at, int64_t now_us);

/* An alert is open, or about to open: store its next sighting at once. The thread that stores it
 * clears the flag. */
void last_seen_await(struct last_seen_entry *entry);
bool last_seen_take_awaited(struct last_seen_entry *entry);

/* Writers remember what they read of agents. One that was enabled, disabled or deleted is read
 * again: what was read when last_seen_changes() was less than it is after this call holds no
 * longer. Call it after the commit. The second is for all agents: changes may be lost. */
void last_seen_agent_changed(struct last_seen *l, int64_t tenant_id, int64_t agent_id);
void last_seen_agents_changed(struct last_seen *l);

/* Before anything is read. Who reads after a change for all agents has counted it: of_all is never
 * more than n. */
struct agent_changes {
    int64_t n;      /* how many there were */
    int64_t of_all; /* which of them was the last for all agents */
};
struct agent_changes last_seen_changes(const struct last_seen *l);

/* Does what was read of this agent after that number of changes still hold? */
bool last_seen_holds(const struct last_seen_entry *entry, int64_t read_no);

/* Whether the agent may report: all writers of a process go by what was read after the most
 * changes, whichever of them has it in its cache. */
void last_seen_set_enabled(struct last_seen_entry *entry, bool enabled, int64_t read_no);
bool last_seen_is_enabled(const struct last_seen_entry *entry);

/* When agents are expected has changed, or who is; and has it since the last call? */
void last_seen_set_changed(struct last_seen *l);
bool last_seen_take_changed(struct last_seen *l);

/* Sets the function to call with sightings when they are stored. Call before the writer starts. */
void last_seen_on_stored(struct last_seen *l, last_seen_fn *fn);

/* Calls the function set by last_seen_on_stored(). */
int last_seen_stored(struct last_seen *l, struct txn *txn, const struct sighting *sightings,
                     size_t n, struct error *err) MUST_CHECK;

/* Submits new sightings to the writer, unless a save is running. */
void last_seen_save(struct last_seen *l, struct writer *writer);
