/* engine.c - the order in which things start and stop. */
#include "engine/engine.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/distribution.h"
#include "db/embedded.h"
#include "db/migrate.h"
#include "db/servers.h"
#include "engine/feature.h"
#include "engine/listener.h"
#include "engine/readers.h"
#include "engine/space.h"
#include "engine/txn.h"
#include "engine/watcher.h"
#include "engine/writer.h"

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
    struct writer_job trial; /* the trial transaction of try_to_commit() */
    atomic_bool tries;       /* it is under way */
    int64_t tried_us;        /* raw clock: when it last began */
    struct readers *readers, *hashers;
    struct watcher *watcher;
    struct listener *listener;
    struct space space;
};

enum {
    POSTGRES_WRITERS = 2,
    COMMAND_READERS = 1, /* a command makes one request at a time */
};

int engine_open_reader(const struct engine *e, struct db **ret, struct error *err)
{
    return db_open(e->options.database, DB_READER, ret, err);
}

static int open_writers(struct engine *e, struct error *err)
{
    size_t writers = 1;

    for (; e->n_txns < writers; e->n_txns++) {
        struct txn *txn = &e->txns[e->n_txns];

        if (db_open(e->options.database, DB_WRITER, &txn->db, err) != 0)
            return -1;
        txn->engine = e;
        if (e->n_txns > 0)
            continue;
        e->shared = strcmp(db_dialect(txn->db), "postgres") == 0;
        writers = e->shared && e->options.serves ? POSTGRES_WRITERS : 1;
        /* A failed sync may have left pages that only look stored: write and sync them again before
         * a retry is reported as a duplicate. */
        if (db_checkpoint(txn->db, err) != 0 || distribution_check(txn->db, err) != 0 ||
            store_migrate(txn->db, err) != 0) {
            e->n_txns = 1;
            return -1;
        }
        db_set_log_max(txn->db, e->options.log_max_bytes);
    }
    return 0;
}

static int open_databases(struct engine *e, struct error *err)
{
    const char *database = e->options.database;
    unsigned wanted = e->options.serves ? e->options.readers : COMMAND_READERS;
    unsigned readers = wanted < READERS_MAX ? wanted : READERS_MAX;

    if (open_writers(e, err) != 0)
        return -1;
    for (; e->n_read_dbs < readers; e->n_read_dbs++)
        if (db_open(database, DB_POOLED, &e->read_dbs[e->n_read_dbs], err) != 0)
            return -1;
    if (e->options.serves && db_open(database, DB_POOLED, &e->hash_db, err) != 0)
        return -1;
    if (db_open(database, DB_READER, &e->watch_db, err) != 0)
        return -1;
    if (!e->shared)
        return 0;
    if (e->options.serves && db_open(database, DB_READER, &e->listen_db, err) != 0)
        return -1;
    return database_clock_learn(e->watch_db, err);
}

static void close_databases(struct engine *e)
{
    db_close(e->listen_db);
    db_close(e->watch_db);
    db_close(e->hash_db);
    for (size_t i = 0; i < e->n_read_dbs; i++)
        db_close(e->read_dbs[i]);
    for (size_t i = 0; i < e->n_txns; i++)
        db_close(e->txns[i].db);
}

enum { HASHES_MAX = 16 };

static size_t index_of(const struct engine *e, const struct feature *feature)
{
    size_t i = 0;

    while (e->options.features[i] != feature) {
        assert(e->options.features[i] != NULL); /* the feature is not in the list */
        i++;
    }
    return i;
}

struct budgets *engine_budgets(struct engine *e)
{
    return e->options.budgets != NULL ? e->options.budgets : &e->unlimited;
}

void *engine_state(const struct engine *e, const struct feature *feature)
{
    return e->states[index_of(e, feature)];
}

static int open_features(struct engine *e, struct error *err)
{
    for (; e->options.features[e->n_opened] != NULL; e->n_opened++) {
        const struct feature *feature = e->options.features[e->n_opened];

        assert(e->n_opened < FEATURES_MAX);
        if (feature->open == NULL)
            continue;
        if (feature->open(e, &e->states[e->n_opened], err) != 0) {
            e->n_opened++; /* close() is called after a failure too */
            return -1;
        }
    }
    for (size_t i = 0; i < e->n_txns; i++)
        for (size_t f = 0; f < e->n_opened; f++)
            if (e->options.features[f]->txn.open != NULL)
                e->options.features[f]->txn.open(e, &e->txns[i]);
    return 0;
}

/* The hooks of a transaction: each feature's, in order. */

static int announced_all(struct txn *txn, struct error *err)
{
    const struct engine *e = txn->engine;

    for (size_t f = 0; f < e->n_opened; f++)
        if (e->options.features[f]->txn.announced != NULL &&
            e->options.features[f]->txn.announced(txn, err) != 0)
            return -1;
    return 0;
}

static int prepare_all(struct txn *txn, struct error *err)
{
    const struct engine *e = txn->engine;

    for (size_t f = 0; f < e->n_opened; f++)
        if (e->options.features[f]->txn.prepare != NULL &&
            e->options.features[f]->txn.prepare(txn, err) != 0)
            return -1;
    for (size_t f = 0; f < e->n_opened; f++)
        if (e->options.features[f]->txn.settle != NULL &&
            e->options.features[f]->txn.settle(txn, err) != 0)
            return -1;
    return 0;
}

static void committed_all(struct txn *txn)
{
    struct engine *e = txn->engine;

    space_note_stored(&e->space);
    for (size_t f = 0; f < e->n_opened; f++)
        if (e->options.features[f]->txn.committed != NULL)
            e->options.features[f]->txn.committed(txn);
}

static void rolled_back_all(struct txn *txn)
{
    const struct engine *e = txn->engine;

    for (size_t f = 0; f < e->n_opened; f++)
        if (e->options.features[f]->txn.rolled_back != NULL)
            e->options.features[f]->txn.rolled_back(txn);
}

static void changed_all(struct txn *txn)
{
    const struct engine *e = txn->engine;

    for (size_t f = 0; f < e->n_opened; f++)
        if (e->options.features[f]->txn.changed != NULL)
            e->options.features[f]->txn.changed(txn);
}

static const struct writer_hooks hooks = {
    .announced = announced_all,
    .prepare = prepare_all,
    .committed = committed_all,
    .rolled_back = rolled_back_all,
    .changed = changed_all,
};

static int refresh_caches(void *ctx, struct db *db, struct error *err)
{
    struct engine *e = ctx;

    for (size_t i = 0; i < CHANGE_TOPICS; i++)
        if (e->caches[i] != NULL && e->caches[i]->refresh(e, db, err) != 0)
            return -1;
    return 0;
}

static bool caches_have_more(const void *ctx)
{
    const struct engine *e = ctx;

    for (size_t i = 0; i < CHANGE_TOPICS; i++)
        if (e->caches[i] != NULL && e->caches[i]->has_more != NULL && e->caches[i]->has_more(e))
            return true;
    return false;
}

/* Commands wait for the database as long as it takes, and so does the start. */
static int guard_writers(struct engine *e, struct error *err)
{
    for (size_t i = 0; e->options.serves && i < e->n_txns; i++)
        if (db_guard(e->txns[i].db, err) != 0)
            return -1;
    return 0;
}

static int start_threads(struct engine *e, struct error *err)
{
    const struct writer_options writer = { .txns = e->txns,
                                           .n_txns = e->n_txns,
                                           .shared = e->shared,
                                           .hooks = &hooks,
                                           .limits = e->options.writer,
                                           .on_fatal = e->options.on_fatal,
                                           .ctx = e->options.ctx };
    const int64_t wait_max_us = (int64_t)e->options.writer.wait_max_ms * USEC_PER_MSEC;

    if (refresh_caches(e, e->watch_db, err) != 0 || guard_writers(e, err) != 0 ||
        writer_new(&writer, &e->writer, err) != 0 ||
        readers_new(e->read_dbs, e->n_read_dbs, e->options.reads_max, wait_max_us, &e->readers,
                    err) != 0)
        return -1;
    return e->hash_db == NULL ? 0 : readers_new(&e->hash_db, 1, HASHES_MAX, 0, &e->hashers, err);
}

static int start_features(struct engine *e, struct error *err)
{
    for (; e->n_started < e->n_opened; e->n_started++) {
        const struct feature *feature = e->options.features[e->n_started];

        if (feature->start != NULL && feature->start(e, err) != 0) {
            e->n_started++; /* stop() is called after a failure too */
            return -1;
        }
    }
    return 0;
}

struct tick engine_now(const struct engine *e, bool healthy)
{
    const struct clock_times times = clock_times();

    return (struct tick){ .wall_us = times.wall_us,
                          .mono_us = times.mono_us,
                          .raw_us = clock_raw_us(),
                          .healthy = healthy && !db_is_away(e->watch_db, 0) };
}

enum { TRIAL_S = 2 }; /* how often a commit is tried */

/* Writes a message to the server's WAL: takes no locks, stores no row, but its commit needs the
 * same synchronous standby as that of a report. */
static int trial_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    /* clang-format off */
    static const struct db_query say = {
        .sqlite = "SELECT 0", /* not asked */
        .postgres = "SELECT CAST(pg_logical_emit_message(true, 'muster', '') AS TEXT)",
    };
    /* clang-format on */

    (void)job;
    return db_exec(txn->db, &say, DB_NO_ARGS, NULL, NULL, err);
}

static void trial_done(struct writer_job *job, const struct error *err)
{
    struct engine *e = CONTAINER_OF(job, struct engine, trial);

    (void)err; /* ignored: the circuit breaker has counted it */
    atomic_store(&e->tries, false);
}

/* Commits a trial transaction, so that an idle node also notices when commits hang. A server that
 * has lost its synchronous standby delays commits that wrote something; reads still work. */
static void try_to_commit(struct engine *e)
{
    static struct job_cost cost = JOB_COST(50);
    const int64_t now_us = clock_raw_us();

    if (!e->shared || !e->options.serves || space_is_full(&e->space) ||
        now_us - e->tried_us < (int64_t)TRIAL_S * USEC_PER_SEC || atomic_exchange(&e->tries, true))
        return;
    e->tried_us = now_us;
    e->trial = (struct writer_job){ .apply = trial_apply,
                                    .done = trial_done,
                                    .cost = &cost,
                                    .exclusive = true,
                                    .keeps_caches = true,
                                    .writes_first = true,
                                    .unbounded = true };
    if (writer_submit(e->writer, &e->trial, NULL) != 0)
        atomic_store(&e->tries, false);
}

/* The watcher's tick; `ctx` is the engine. */
static void engine_tick(void *ctx, bool healthy)
{
    struct engine *e = ctx;
    const bool timed = e->shared && healthy && database_clock_learn(e->watch_db, NULL) == 0;
    const bool whole = (timed || !e->shared) && !db_any_is_away(e->watch_db);
    struct tick tick = engine_now(e, healthy && whole);
    struct error trouble = { 0 };

    writer_expire(e->writer);
    try_to_commit(e);
    if (timed && db_learn_places(e->watch_db, &trouble) != 0)
        log_write(LOG_INFO, "database", "cannot read Citus shard placement: %s", trouble.text);
    space_measure(&e->space);
    for (size_t f = 0; f < e->n_opened; f++) {
        const struct feature *feature = e->options.features[f];
        struct error err = { 0 };

        if (feature->tick == NULL || feature->tick(e, &tick, &err) == 0)
            continue;
        log_write(LOG_WARNING, feature->name, "tick failed: %s", err.text);
        if (err.code == ERR_UNAVAILABLE) /* those after it would wait as long */
            tick = engine_now(e, false);
    }
}

static int start_watcher(struct engine *e, struct error *err)
{
    const struct watcher_options watcher = {
        .db = e->watch_db,
        .refresh = refresh_caches,
        .has_more = caches_have_more,
        .tick = engine_tick,
        .ctx = e,
    };

    return watcher_new(&watcher, &e->watcher, err);
}

static int start_listener(struct engine *e, struct error *err)
{
    const struct listener_options options = { .db = e->listen_db,
                                              .engine = e,
                                              .features = e->options.features,
                                              .watcher = e->watcher,
                                              .writer = e->writer };

    return e->listen_db == NULL ? 0 : listener_new(&options, &e->listener, err);
}

bool engine_listens(const struct engine *e)
{
    return listener_listens(e->listener);
}

static void stop_threads(struct engine *e)
{
    listener_free(e->listener); /* before the watcher, which it wakes */
    e->listener = NULL;
    watcher_free(e->watcher);
    readers_free(e->hashers); /* before the writer: results of hashing are still stored */
    e->watcher = NULL;
    e->hashers = NULL;
    while (e->n_started > 0)
        if (e->options.features[--e->n_started]->stop != NULL)
            e->options.features[e->n_started]->stop(e);
    writer_stop(e->writer); /* before the readers: a change is followed by a read */
    readers_free(e->readers);
    writer_free(e->writer); /* after the readers: a read may still submit to it, and is refused */
    e->writer = NULL;
    e->readers = NULL;
}

void engine_leave(struct engine *e)
{
    for (size_t i = 0; i < e->n_started; i++)
        if (e->options.features[i]->leave != NULL)
            e->options.features[i]->leave(e);
}

static void close_all(struct engine *e)
{
    stop_threads(e);
    for (size_t i = 0; i < e->n_txns; i++)
        for (size_t f = e->n_opened; f-- > 0;)
            if (e->options.features[f]->txn.close != NULL)
                e->options.features[f]->txn.close(&e->txns[i]);
    while (e->n_opened > 0)
        if (e->options.features[--e->n_opened]->close != NULL)
            e->options.features[e->n_opened]->close(e->states[e->n_opened]);
    close_databases(e);
    space_done(&e->space);
    free(e);
}

static int64_t half_of(int64_t limit)
{
    return limit > 1 ? limit / 2 : limit;
}

/* Limits each tenant to half of every queue, so that the others always find room. (Reads also count
 * while they run.) Keeps limits that are set already. */
static void limit_shares(struct engine *e)
{
    int64_t *max = engine_budgets(e)->tenant_level.max;
    const struct writer_limits *writer = &e->options.writer;
    const int64_t shares[BUDGET_KINDS] = {
        [BUDGET_EVENTS] = half_of((int64_t)writer->events_max),
        [BUDGET_WRITER_US] = half_of((int64_t)writer->wait_max_ms * USEC_PER_MSEC),
        [BUDGET_READS] = half_of((int64_t)e->options.reads_max) + e->options.readers,
    };

    for (int i = 0; i < BUDGET_KINDS; i++)
        if (max[i] == 0)
            max[i] = shares[i];
}

int engine_new(const struct engine_options *options, struct engine **ret, struct error *err)
{
    struct engine *e = NEW(struct engine);

    e->options = *options;
    budgets_init(&e->unlimited);
    limit_shares(e);
    space_init(&e->space, options->database, options->min_free_bytes, options->serves);
    if (open_databases(e, err) != 0 || open_features(e, err) != 0 ||
        db_learn_places(e->watch_db, err) != 0 || start_threads(e, err) != 0 ||
        start_features(e, err) != 0 || start_watcher(e, err) != 0 || start_listener(e, err) != 0) {
        close_all(e);
        return -1;
    }
    *ret = e;
    return 0;
}

void engine_free(struct engine *e)
{
    struct error err = { 0 };

    if (e == NULL)
        return;
    stop_threads(e);
    if (db_checkpoint(e->txns[0].db, &err) != 0) /* if it fails, the next start does it */
        log_write(LOG_WARNING, "checkpoint", "final checkpoint failed: %s", err.text);
    close_all(e);
}

const struct settings *engine_settings(const struct engine *e)
{
    return e->options.settings;
}

const char *engine_database(const struct engine *e)
{
    return e->options.database;
}

bool engine_serves(const struct engine *e)
{
    return e->options.serves;
}

bool engine_is_shared(const struct engine *e)
{
    return e->shared;
}

struct db *engine_open_db(struct engine *e)
{
    assert(e->writer == NULL); /* once the writer runs, the connection is the writer's */
    return e->txns[0].db;
}

struct db *engine_watch_db(struct engine *e)
{
    return e->watch_db;
}

struct writer *engine_writer(struct engine *e)
{
    return e->writer;
}

struct readers *engine_readers(struct engine *e)
{
    return e->readers;
}

void engine_set_cache(struct engine *e, enum change_topic topic, const struct engine_cache *cache)
{
    assert(topic < CHANGE_NOTHING && e->caches[topic] == NULL);
    e->caches[topic] = cache;
}

const struct engine_cache *engine_cache(const struct engine *e, enum change_topic topic)
{
    assert(topic < CHANGE_NOTHING && e->caches[topic] != NULL);
    return e->caches[topic];
}

int engine_read(struct engine *e, struct reader_job *job, struct error *err)
{
    return readers_submit(e->readers, job, err);
}

bool engine_read_inline(struct engine *e, struct reader_job *job)
{
    return readers_run_inline(e->readers, job);
}

int engine_hash(struct engine *e, struct reader_job *job, struct error *err)
{
    return readers_submit(e->hashers == NULL ? e->readers : e->hashers, job, err);
}

const char *engine_problem(const struct engine *e)
{
    if (!watcher_is_healthy(e->watcher))
        return "The database does not answer";
    if (writer_is_stalled(e->writer))
        return "Reports have waited for more than 5 seconds to be stored";
    if (db_is_away(e->watch_db, 0))
        return "The database commits nothing";
    if (db_all_are_away(e->watch_db))
        return "No server of the database that has tenants stores reports";
    if (space_is_low(&e->space))
        return "Free disk space is below the floor, so reports are refused";
    if (space_is_full(&e->space))
        return "The last write found no space on the disk";
    return NULL;
}

struct space *engine_space(struct engine *e)
{
    return &e->space;
}

void engine_stats(struct engine *e, struct engine_stats *ret)
{
    *ret = (struct engine_stats){ .healthy = engine_problem(e) == NULL,
                                  .reads_waiting = readers_waiting(e->readers) };
    writer_waiting(e->writer, &ret->queue);
}
