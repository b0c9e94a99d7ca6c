/* files.h - files that are there whole, or not at all. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

/* An empty file of our own (mode 0600) beside `path`, in the arena: to be filled, then published.
 */
int file_draft(const char *path, struct arena *arena, const char **ret,
               struct error *err) MUST_CHECK;

/* Copies all of one file into another that is there. */
int file_copy(const char *from, const char *to, struct error *err) MUST_CHECK;

/* Syncs the draft and gives it its name, which must be free: never replaces a file. Durable on
 * return of 0. */
int file_publish(const char *draft, const char *path, struct error *err) MUST_CHECK;

/* Removes a draft, and what SQLite may have put beside it. */
void file_discard(const char *draft);
