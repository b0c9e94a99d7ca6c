/* datadir.h - the data directory: its database, its socket, and the lock on it.
 *
 * Only one process ever writes the embedded database; whoever holds the lock
 * is that process.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct datadir {
    const char *path, *socket; /* in the arena */
    const char *database;      /* "sqlite:PATH" */
    int lock;                  /* file descriptor; -1: not held */
};

/* Names only; touches nothing. */
void datadir_init(struct datadir *d, const char *path, struct arena *arena);

/* Makes the directory (mode 0700) when it is not there and `may_make`; else ERR_NOT_FOUND. */
int datadir_ensure(const struct datadir *d, bool may_make, struct error *err) MUST_CHECK;

/* ERR_BUSY when another process has it. */
int datadir_lock(struct datadir *d, struct error *err) MUST_CHECK;

/* A number that is another one when somebody else has taken the lock since. */
int64_t datadir_holder(const struct datadir *d);

/* Gives the lock back. */
void datadir_done(struct datadir *d);
