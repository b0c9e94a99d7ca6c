/* files.h - files that are written whole or not at all; and the data directory: its database, its
 * socket, and the lock on it.
 *
 * Only the process that holds the lock writes the embedded database.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* Creates an empty file (mode 0600) beside `path`, to fill and then publish; its name is in the
 * arena. */
int file_draft(const char *path, struct arena *arena, const char **ret,
               struct error *err) MUST_CHECK;

/* Copies a whole file into an existing one. */
int file_copy(const char *from, const char *to, struct error *err) MUST_CHECK;

/* Syncs the draft and renames it to `path`; never replaces a file. Durable on return of 0. */
int file_publish(const char *draft, const char *path, struct error *err) MUST_CHECK;

/* Makes the name of a new file or directory durable. */
int file_sync_directory_of(const char *path, struct error *err) MUST_CHECK;

/* Deletes a draft and the files of SQLite beside it. */
void file_discard(const char *draft);

/* Creates or replaces a file (mode 0600) with these bytes; durable on return of 0. */
int file_replace(const char *path, struct str bytes, struct error *err) MUST_CHECK;

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
