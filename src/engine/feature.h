/* feature.h - a feature as one const value: what it serves, and its life in the process.
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
#include "engine/txn.h"

struct command;
struct engine;
struct route;

enum { FEATURE_TABLES_MAX = 8 };

/* The moment of a tick. */
struct tick {
    int64_t wall_us, mono_us, raw_us; /* base/clock.h; raw_us is never shifted */
    bool healthy;                     /* the database answers, and the writer has a connection */
};

struct feature {
    const char *name; /* of its folder in src/features */

    /* Tables, each ended by a row of zeros; the first NULL ends the list. */
    const struct route *routes[FEATURE_TABLES_MAX];
    const struct command *commands[FEATURE_TABLES_MAX];

    /* Makes the feature's state, which engine_state() returns from then on. No thread of the engine
     * runs yet: it may use the writer's connection. On failure close() is still called. */
    int (*open)(struct engine *e, void **ret_state, struct error *err);

    /* The writer and the readers run. */
    int (*start)(struct engine *e, struct error *err);

    /* About once a second, on the watcher's thread; must not block for long. A failure is logged,
     * and the next tick tries again. */
    int (*tick)(struct engine *e, const struct tick *tick, struct error *err);

    /* Ends what start() began, while the writer still takes jobs. */
    void (*stop)(struct engine *e);

    /* Frees the state, half-built or NULL. No thread of the engine runs any more. */
    void (*close)(void *state);

    struct txn_methods txn;
};
