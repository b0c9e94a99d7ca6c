/* feature.h - a feature as one const value: its routes, its commands and its lifecycle.
 *
 * app/features.c lists the features. The engine opens and starts them in that
 * order, ticks them about once a second, and stops and closes them in reverse;
 * the API serves their routes and the command line their commands.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/txn.h"

struct buf;
struct command;
struct engine;
struct route;

/* The text that db_notify() sends after a change of cached data: other processes refresh their
 * caches at once. */
#define ENGINE_CHANGED "changed"

enum { FEATURE_TABLES_MAX = 12 };

/* The clocks at a tick. */
struct tick {
    int64_t wall_us, mono_us, raw_us; /* base/clock.h; raw_us is never shifted */
    bool healthy;                     /* the database answers, and the writer has a connection */
};

struct feature {
    const char *name;  /* name of its folder in src/features */
    const char *about; /* a sentence for the OpenAPI document; NULL: only pages */

    /* Tables, each ended by a row of zeros; the first NULL ends the list. */
    const struct route *routes[FEATURE_TABLES_MAX];
    const struct command *commands[FEATURE_TABLES_MAX];

    /* Creates the feature's state, which engine_state() then returns. No thread of the engine runs
     * yet, so it may use the writer's connection. On failure close() is still called. */
    int (*open)(struct engine *e, void **ret_state, struct error *err);

    /* The writer and the readers run. */
    int (*start)(struct engine *e, struct error *err);

    /* About once a second, on the watcher's thread; must not block for long. A failure is logged,
     * and the next tick tries again. */
    int (*tick)(struct engine *e, const struct tick *tick, struct error *err);

    /* Where several processes share a database, on the listener's thread (listener.h); must not
     * block. notified() gets what the same feature of another process sent; an empty text: some may
     * have been missed. notify() writes a text for the others, or returns false. */
    void (*notified)(struct engine *e, struct str text);
    bool (*notify)(struct engine *e, struct buf *ret);

    /* The server begins to stop, while requests are still under way: cancel waits for other
     * services. */
    void (*leave)(struct engine *e);

    /* Stops what start() started, while the writer still accepts jobs. */
    void (*stop)(struct engine *e);

    /* Frees the state, which may be incomplete or NULL. All threads of the engine have ended. */
    void (*close)(void *state);

    struct txn_methods txn;
};
