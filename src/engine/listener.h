/* listener.h - the thread that exchanges notifications with other processes on the same PostgreSQL.
 *
 * A text is ENGINE_CHANGED, after which the watcher refreshes the caches at once; MIGRATE_BEGINS
 * and MIGRATE_ENDS, between which writers pause; or a feature's name, a blank and a text for the
 * same feature of the other processes. It is a hint: nothing is lost when one does not arrive,
 * because every process also polls the database.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct engine;
struct feature;
struct listener;
struct watcher;
struct writer;

/* All borrowed. */
struct listener_options {
    struct db *db; /* no other thread may use it until listener_free() */
    struct engine *engine;
    const struct feature *const *features; /* ends in NULL */
    struct watcher *watcher;
    struct writer *writer;
};

/* The caller owns *ret. */
int listener_new(const struct listener_options *options, struct listener **ret,
                 struct error *err) MUST_CHECK;

/* False while a connection is lost, and for NULL. Any thread. */
bool listener_listens(const struct listener *l);

/* NULL is fine. */
void listener_free(struct listener *l);
