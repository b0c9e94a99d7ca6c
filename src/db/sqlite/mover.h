/* mover.h - moves the write-ahead log into the database file, while the writer goes on; private to
 * this folder.
 *
 * A checkpoint syncs the log, writes pages to the file and syncs that: ten milliseconds, in which
 * the writer could store nothing. So a thread does it, on a connection of its own.
 *
 * SQLite before 3.51.3 can corrupt a file when one connection checkpoints at the moment at which
 * another starts the log again from its beginning. That cannot happen here:
 *  1. The log is started again only when all of it is in the file.
 *  2. The mover is asked when that is not so, and nothing else is moved until it is done: the
 *     writer, which asks, checkpoints by itself only when the mover is idle.
 *  3. So from its first look at the log to its last the mover sees the log that the writer saw.
 */
#pragma once
#include <stdbool.h>

struct mover;

/* For this file; NULL when its connection or thread cannot be had. The caller owns it. */
struct mover *mover_new(const char *path);

/* Asks it to move what is in the log now. It must be idle. */
void mover_begin(struct mover *m);

/* What it was last asked to do. */
struct move {
    int code;  /* SQLite's */
    int pages; /* of the log, from its beginning, that are in the file; -1: unknown */
};

/* Is it idle again? Then *ret says what it did. */
bool mover_is_done(struct mover *m, struct move *ret);

/* The same, when it is. */
struct move mover_wait(struct mover *m);

/* Waits for it first. NULL is fine. */
void mover_free(struct mover *m);
