/* space.h - free space where the database is, and a reserve for administration.
 *
 * Below a floor of free bytes no reports are accepted, so that keys can still be revoked and
 * rotated, people can sign in, and the audit log can grow. If other programs fill the disk all the
 * same, a reserve file is deleted.
 *
 * PostgreSQL's disk is not visible from here: only its errors are.
 *
 * Thread-safe.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/base.h"
#include "base/lock.h"

struct space {
    char folder[4096]; /* empty: the disk is not visible */
    int64_t min_free;  /* 0: 5 % of the file system, at most 256 MiB */
    bool keeps_reserve;
    _Atomic int64_t free_bytes, floor_bytes; /* when last measured */
    _Atomic int64_t full_us; /* monotonic: when a write last found no space; 0: none, or a later
                                one succeeded */
    atomic_bool low;
    struct lock lock; /* measuring: one thread at a time */
    bool has_reserve GUARDED_BY(lock);
};

/* `database` as for db_open(). A reserve is kept by servers only. */
void space_init(struct space *s, const char *database, int64_t min_free, bool keeps_reserve);
void space_done(struct space *s);

/* Looks at the file system: once a second, and after each commit. */
void space_measure(struct space *s);

/* A write failed for lack of space, or a commit succeeded. */
void space_note_full(struct space *s);
void space_note_stored(struct space *s);

/* Is less than the floor free? */
bool space_is_low(const struct space *s);

/* Did the last write fail for lack of space, a few seconds ago at most? */
bool space_is_full(const struct space *s);
