/* maintenance.h - a connection of a command's own, while a server may be running.
 *
 * It is read-only and without a time limit, and neither writes nor checkpoints.
 *
 * One thread.
 */
#pragma once
#include "base/err.h"
#include "cli/command.h"
#include "cli/datadir.h"

struct db;

/* The database of a data directory, open for maintenance. */
struct maintenance {
    struct datadir datadir;
    struct db *db;
    int64_t holder;
    int64_t checked_us;
};

/* Takes the lock of the data directory if it is free, so that no server starts to write meanwhile;
 * otherwise reads beside the server that holds it. */
int maintenance_begin(struct maintenance *k, struct invocation *in, struct error *err) MUST_CHECK;
void maintenance_end(struct maintenance *k);
