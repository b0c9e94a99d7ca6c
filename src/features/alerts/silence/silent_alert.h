/* silent_alert.h - opens the alert about an agent that is silent, and closes it.
 *
 * In transactions.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct alert_notes;
struct arena;
struct db;
struct sighting;
struct silence_row;
struct txn;
struct watched;

struct silent_change {
    int64_t at;
    struct alert_notes *notes; /* of the transaction */
};

/* Since the last-seen time of the agent's row. */
int silent_alert_open(struct db *db, const struct watched *w, const struct silent_change *change,
                      struct arena *arena, struct error *err) MUST_CHECK;

/* The alert of the agent's row, for the reason that the row shows. */
int silent_alert_close(struct db *db, const struct silence_row *row,
                       const struct silent_change *change, struct arena *arena,
                       struct error *err) MUST_CHECK;

/* Closes the alerts of agents that were seen. Call within the transaction that stores the
 * sightings. */
int silent_alert_on_sightings(struct txn *txn, const struct sighting *sightings, size_t n,
                              struct error *err) MUST_CHECK;
