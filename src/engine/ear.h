/* ear.h - the thread that hears what other processes on the same PostgreSQL tell, and tells them.
 *
 * A text is ENGINE_CHANGED, after which the watcher refreshes the caches at once; EAR_WRITES and
 * who says so, which a process tells while it commits many transactions a second; MIGRATE_BEGINS
 * and MIGRATE_ENDS, between which writers pause; or a feature's name, a blank and what that feature
 * tells its like. It is a hint: nothing is lost for good when one does not arrive, because everyone
 * also looks by themselves from time to time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

#define EAR_WRITES "writes "

struct db;
struct ear;
struct engine;
struct feature;
struct watcher;
struct writer;

/* All borrowed. */
struct ear_options {
    struct db *db; /* no other thread may use it until ear_free() */
    struct engine *engine;
    const struct feature *const *features; /* ends in NULL */
    struct watcher *watcher;
    struct writer *writer;
};

/* The caller owns *ret. */
int ear_new(const struct ear_options *options, struct ear **ret, struct error *err) MUST_CHECK;

/* False while a connection is lost. NULL hears nothing. Any thread. */
bool ear_hears(const struct ear *ear);

/* NULL is fine. */
void ear_free(struct ear *ear);
