/* packing.h - from when on rows of events are packed in PostgreSQL (migrations/0051), and have days
 * that exports rely on (event_days.h).
 *
 * Programs from before cannot read packed rows, and note no days. So that they can
 * go on beside this one, and be started again if it has to be taken back, both
 * begin when only programs that know the migration have run for a day: each
 * node says which program it is (table nodes), and nodes look every ten seconds. If
 * none has looked for an hour, the day begins again. From then on older
 * programs refuse the database. In a new database both begin at once, and on SQLite, where
 * rows are packed by migration 49, days do.
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
    bool settled;          /* exports rely on days, too */
    int64_t looked_us;     /* monotonic */
};

/* At the start, with the writer's connection. */
int packing_open(struct packing *p, struct event_log *log, struct db *db,
                 struct error *err) MUST_CHECK;

/* Looks if it is time, and begins to pack. Reads with `db`. */
int packing_step(struct packing *p, const struct tick *tick, struct db *db, struct writer *writer,
                 struct error *err) MUST_CHECK;
