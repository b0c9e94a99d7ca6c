/* files.h - files that are written whole or not at all. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

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
