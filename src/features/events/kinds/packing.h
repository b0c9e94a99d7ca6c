/* packing.h - from when on rows of events are packed in PostgreSQL (migrations/0051).
 *
 * Programs from before the migration cannot read packed rows. So that they can
 * go on beside this one, and be started again if it has to be taken back, rows
 * are packed when only programs that know the migration have run for a day: each
 * node says which program it is (table nodes), and nodes look every ten seconds. If
 * none has looked for an hour, the day begins again. From then on older
 * programs refuse the database. In a new database rows are packed at once.
 *
 * Watcher thread, but for packing_open().
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct event_log;
struct tick;
struct writer;

struct packing {
    struct event_log *log; /* NULL: nothing to do */
    bool begun;            /* rows are packed; it is still looked whether the database says so */
    int64_t looked_us;     /* monotonic */
};

/* At the start, with the writer's connection. */
int packing_open(struct packing *p, struct event_log *log, struct db *db,
                 struct error *err) MUST_CHECK;

/* Looks if it is time, and begins to pack. Reads with `db`. */
int packing_step(struct packing *p, const struct tick *tick, struct db *db, struct writer *writer,
                 struct error *err) MUST_CHECK;
