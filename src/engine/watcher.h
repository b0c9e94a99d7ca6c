/* watcher.h - what must be looked after every second, whoever asks or not.
 *
 * Keeps the registry and people in step with the database, so that what another
 * process changed is seen within a second, and knows whether the database answers.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct sessions;
struct registry;
struct watcher;

struct watcher_options {
    struct registry *registry; /* borrowed, as are the others */
    struct sessions *sessions;
    struct db *db;                         /* nobody else may use it until watcher_free() */
    void (*tick)(void *ctx, bool healthy); /* every second on its thread; not to block for long */
    void *ctx;
};

/* Starts its thread. */
int watcher_new(const struct watcher_options *options, struct watcher **ret,
                struct error *err) MUST_CHECK;

/* The database answered the last time it was asked. Any thread. */
bool watcher_is_healthy(const struct watcher *w);

/* NULL is fine. */
void watcher_free(struct watcher *w);
