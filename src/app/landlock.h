/* landlock.h - a list of paths that a process may still open, enforced by the kernel (Landlock).
 *
 * Applies to the calling thread and the threads that it starts afterwards, so
 * it must run before there are others. Files that are open already stay open.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct landlock {
    int ruleset; /* file descriptor; -1: the kernel has no Landlock */
    int abi;     /* what the kernel knows; 0: nothing */
};

enum landlock_access { LANDLOCK_READ, LANDLOCK_WRITE };

/* Begins an empty list; abi 0 when the kernel has no Landlock. */
void landlock_init(struct landlock *l);

/* Allows the file, or everything below the directory: to read it, or to read, write, create and
 * delete files. A path that does not exist is skipped. */
int landlock_allow(struct landlock *l, const char *path, enum landlock_access access,
                   struct error *err) MUST_CHECK;

/* From here on every other path is refused (EACCES), and nothing can be executed. */
int landlock_enforce(struct landlock *l, struct error *err) MUST_CHECK;

/* Frees the list, whether or not it was enforced. */
void landlock_done(struct landlock *l);
