/* engine_state.h - what the files of the engine itself share; private to them. */
#pragma once
#include <stdatomic.h>

#include "base/budget.h"
#include "engine/engine.h"
#include "engine/readers.h"
#include "engine/space.h"
#include "engine/txn.h"

enum {
    READERS_MAX = 64,
    FEATURES_MAX = 32,
};

struct engine {
    struct engine_options options;
    struct budgets unlimited; /* when the options bring none */
    bool shared;
    struct txn txns[WRITERS_MAX];
    size_t n_txns;
    struct db *read_dbs[READERS_MAX];
    size_t n_read_dbs;
    struct db *watch_db, *hash_db; /* no hash_db: the readers hash */
    struct db *listen_db;          /* if the database is shared and this is a server */
    const struct engine_cache *caches[CHANGE_TOPICS];
    void *states[FEATURES_MAX];
    size_t n_opened, n_started; /* features */
    struct writer *writer;
    struct writer_job trial; /* tells whether a commit succeeds */
    atomic_bool tries;       /* it is under way */
    int64_t tried_us;        /* raw clock: when it last began */
    struct readers *readers, *hashers;
    struct watcher *watcher;
    struct listener *listener;
    struct space space;
};

/* --- databases.c --- */

/* Opens all connections, and migrates the database before any but the first. */
int engine_open_databases(struct engine *e, struct error *err) MUST_CHECK;
void engine_close_databases(struct engine *e);

/* --- ticks.c --- */

/* The watcher's tick; `ctx` is the engine. */
void engine_tick(void *ctx, bool healthy);
