/* kinds_sweep.h - drops kinds of events that no event has any more. SQLite only.
 *
 * Retention deletes events and leaves their kinds. Once a tenant, or the store, has used half of
 * its room for kinds, all events are read in small steps to see which kinds they have, at most once
 * a day; then the others are dropped.
 *
 * Watcher thread only.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct event_kinds;
struct writer;

struct kinds_sweep {
    enum { SWEEP_IDLE, SWEEP_READING, SWEEP_DROPPING } state;
    int64_t began_us; /* monotonic: the last one; 0: none yet */
    int64_t event_no; /* that was read last */
    int64_t below_no; /* kinds that are newer are not looked at */
    uint8_t *used;    /* a bit for each kind below it */
};

/* A step, if it is time for one. Reads with `db`. */
int kinds_sweep_step(struct kinds_sweep *s, struct event_kinds *kinds, struct db *db,
                     struct writer *writer, struct error *err) MUST_CHECK;

void kinds_sweep_done(struct kinds_sweep *s);
