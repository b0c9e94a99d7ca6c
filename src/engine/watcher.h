/* watcher.h - the thread that runs about once a second, whether a request comes or not.
 *
 * Keeps the caches in step with the database, so that what another process
 * changed is seen within a second, knows whether the database answers, and
 * ticks the features.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct watcher;

struct watcher_options {
    struct db *db; /* borrowed; no other thread may use it until watcher_free() */
    int (*refresh)(void *ctx, struct db *db, struct error *err); /* the caches */
    void (*tick)(void *ctx, bool healthy); /* on its thread; must not block for long */
    void *ctx;
};

/* Starts its thread. */
int watcher_new(const struct watcher_options *options, struct watcher **ret,
                struct error *err) MUST_CHECK;

/* The database answered the last time it was asked. Any thread. */
bool watcher_is_healthy(const struct watcher *w);

/* NULL is fine. */
void watcher_free(struct watcher *w);
