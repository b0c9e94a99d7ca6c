/* last_seen.h - when each agent was last heard of: at once in memory, a little later in the store.
 *
 * Whatever we get of an agent is a sign of life, also what is rejected or could
 * not be stored. Noting one costs a store to memory; what is noted is written
 * every two seconds in one transaction, so that ingest does not pay for it. An
 * agent's first sign, and the one that ends a silence, is stored with the report
 * that brought it (admit.h). So after a crash the store is a few seconds behind,
 * but knows whoever was seen, and who is back.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/err.h"

struct last_seen;
struct last_seen_entry; /* of one agent; as long-lived as the life it is from */
struct sighting;
struct txn;
struct writer;

/* Writer thread, in the transaction that stores the sightings. */
typedef int last_seen_fn(struct txn *txn, const struct sighting *sightings, size_t n,
                         struct error *err);

struct last_seen *last_seen_new(void);

/* NULL is fine. */
void last_seen_free(struct last_seen *l);

/* The agent's, made when it is not there yet. */
struct last_seen_entry *last_seen_get(struct last_seen *l, int64_t tenant_id, int64_t agent_id);

/* The agent was heard of at this time of the wall clock. */
void last_seen_note(struct last_seen *l, struct last_seen_entry *sighting, int64_t at);

/* The later of what the store says and what is known here; TIME_NULL (never) when the store says
 * so: what is known here is of an agent that was removed, and came back. */
int64_t last_seen_latest(struct last_seen *l, int64_t tenant_id, int64_t agent_id,
                         int64_t stored_at, int64_t now);

/* When it was heard of here; TIME_NULL: not since the start. */
int64_t last_seen_at_here(const struct last_seen_entry *sighting);

/* When it was noticed, by the monotonic clock, that this is the agent's last sign: for one whose
 * own time cannot be believed. The first time it is now. One thread at a time. */
int64_t last_seen_noticed_us(struct last_seen_entry *sighting, int64_t at, int64_t now_us);

/* The agent has an open alert: its next sign shall be stored at once. Taken by whoever stores it.
 */
void last_seen_await(struct last_seen_entry *sighting);
bool last_seen_take_awaited(struct last_seen_entry *sighting);

/* Somebody changed what is expected of an agent; and has anybody since the last question? */
void last_seen_set_changed(struct last_seen *l);
bool last_seen_take_changed(struct last_seen *l);

/* What else a stored sighting leads to. Before the writer runs. */
void last_seen_on_heard(struct last_seen *l, last_seen_fn *fn);

/* Calls it. */
int last_seen_heard(struct last_seen *l, struct txn *txn, const struct sighting *sightings,
                    size_t n, struct error *err) MUST_CHECK;

/* Hands what is new to the writer, unless it is at it already. */
void last_seen_save(struct last_seen *l, struct writer *writer);
