/* datadir.h - the data directory: its database, its socket, and the lock on it.
 *
 * Only the process that holds the lock writes the embedded database.
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

/* Creates a missing directory (mode 0700) if `may_make`; otherwise ERR_NOT_FOUND. */
int datadir_ensure(const struct datadir *d, bool may_make, struct error *err) MUST_CHECK;

/* Has a muster ever been at work in it? */
bool datadir_is_used(const struct datadir *d);

/* ERR_NOT_FOUND, with a sentence that says what to do, when it has no database. */
int datadir_check_database(const struct datadir *d, struct error *err) MUST_CHECK;

/* ERR_BUSY when another process holds it. */
int datadir_lock(struct datadir *d, struct error *err) MUST_CHECK;

/* A number that changes when another process takes the lock. */
int64_t datadir_holder(const struct datadir *d);

/* Releases the lock. */
void datadir_done(struct datadir *d);
