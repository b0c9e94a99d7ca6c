/* engine.c - the order in which things start and stop. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "db/db.h"
#include "db/migrate.h"
#include "db/size.h"
#include "engine/readers.h"
#include "engine/watcher.h"
#include "features/access/key_use.h"
#include "features/access/registry.h"
#include "features/access/token_guess_limiter.h"
#include "features/access/users/sessions.h"
#include "features/access/users/throttle.h"
#include "features/agents/last_seen.h"
#include "features/alerts/mutes.h"
#include "features/alerts/silence.h"
#include "features/alerts/store.h"
#include "features/alerts/stuck.h"
#include "features/alerts/threshold_watch.h"
#include "features/cost/prices.h"
#include "features/events/event_log.h"
#include "features/events/ingest.h"
#include "features/export/exports.h"
#include "features/kpis/rollups.h"
#include "features/live/feed.h"
#include "features/retention/sweep.h"
#include "features/vault/vault.h"
#include "features/webhooks/courier.h"

enum {
    POSTGRES_WRITERS = 2,
    COMMAND_READERS = 2, /* a command asks for one thing at a time */
    WRITERS_MAX = 4,
    READERS_MAX = 64,
    HASHES_MAX = 16,
    SAVE_PERIOD_S = 2,
    USES_PERIOD_S = 60,
    SIZE_PERIOD_S = 10,
    SESSIONS_PERIOD_S = 60
};

struct engine {
    bool shared;
    struct db *write_dbs[WRITERS_MAX];
    size_t n_write_dbs;
    struct db *read_dbs[READERS_MAX];
    size_t n_read_dbs;
    struct db *watch_db, *courier_db, *hash_db; /* no hash_db: readers hash */
    struct event_log *log;
    void *groups[WRITERS_MAX]; /* of struct ingest_group */
    struct registry *registry;
    struct sessions *sessions;
    int64_t sessions_saved_us; /* monotonic */
    struct throttle *throttle;
    struct last_seen *last_seen;
    struct silence *silence;            /* NULL: it serves nobody, and listens to nobody */
    struct stuck *stuck;                /* likewise */
    struct threshold_watch *thresholds; /* likewise */
    struct sweep *sweep;                /* likewise */
    struct mutes *mutes;                /* likewise */
    struct prices *prices;
    unsigned ticks;         /* the watcher's, as is the next */
    int64_t uses_stored_us; /* monotonic: when those of keys were */
    struct token_guess_limiter *token_guesses;
    struct vault *vault;
    struct writer *writer;
    struct readers *readers, *hashers;
    struct watcher *watcher;
    struct exports *exports;
    struct feed *feed;
    _Atomic int64_t store_bytes, alerts_open;
    struct webhooks_context webhooks;
    struct courier *courier;
};

static int open_databases(struct engine *e, const struct engine_options *options, struct error *err)
{
    size_t writers = 1;
    unsigned wanted = options->serves ? options->readers : COMMAND_READERS;
    unsigned readers = wanted < READERS_MAX ? wanted : READERS_MAX;

    for (; e->n_write_dbs < writers; e->n_write_dbs++) {
        if (db_open(options->database, DB_WRITER, &e->write_dbs[e->n_write_dbs], err) != 0)
            return -1;
        e->shared = strcmp(db_dialect(e->write_dbs[0]), "postgres") == 0;
        if (e->n_write_dbs > 0)
            continue;
        /* A failed sync may have left pages that only look stored: write them again, synced,
         * before anybody is told that they are. */
        if (db_checkpoint(e->write_dbs[0], err) != 0 || store_migrate(e->write_dbs[0], err) != 0 ||
            store_rollups_build(e->write_dbs[0], err) != 0) {
            e->n_write_dbs = 1;
            return -1;
        }
        writers = e->shared && options->serves ? POSTGRES_WRITERS : 1;
    }
    for (; e->n_read_dbs < readers; e->n_read_dbs++)
        if (db_open(options->database, DB_READER, &e->read_dbs[e->n_read_dbs], err) != 0)
            return -1;
    if (options->hashes_apart && db_open(options->database, DB_READER, &e->hash_db, err) != 0)
        return -1;
    if (db_open(options->database, DB_READER, &e->watch_db, err) != 0)
        return -1;
    return db_open(options->database, DB_READER, &e->courier_db, err);
}

static void look_at_store(struct engine *e)
{
    int64_t number;

    if (store_size(e->watch_db, &number, NULL) == 0)
        atomic_store(&e->store_bytes, number);
    if (store_alerts_open(e->watch_db, &number, NULL) == 0)
        atomic_store(&e->alerts_open, number);
}

static void save_sessions(struct engine *e)
{
    e->sessions_saved_us = clock_mono_us();
    sessions_flush(e->sessions, e->writer, e->shared, clock_wall_us());
}

static struct silence_now now_of(const struct engine *e, bool healthy)
{
    const struct clock_times times = clock_times();

    return (struct silence_now){ .wall_us = times.wall_us,
                                 .mono_us = times.mono_us,
                                 .raw_us = clock_raw_us(),
                                 .healthy = healthy && writer_is_healthy(e->writer),
                                 .registry_number = registry_number(e->registry) };
}

/* Who has fallen silent, and what is stuck? */
static void watch(struct engine *e, bool healthy)
{
    const struct silence_now now = now_of(e, healthy);
    struct error err = { 0 };
    int64_t epoch_us;
    int r = silence_tick(e->silence, &now, &err);

    epoch_us = silence_epoch_us(e->silence);
    if (r == 0 && now.healthy &&
        (stuck_tick(e->stuck, now.wall_us, now.mono_us, epoch_us, &err) != 0 ||
         threshold_watch_tick(e->thresholds, now.wall_us, now.mono_us, epoch_us, &err) != 0 ||
         mutes_tick(e->mutes, now.wall_us, now.raw_us, &err) != 0))
        r = -1;
    if (r != 0)
        log_write(LOG_WARNING, "alerts", "not looked at: %s", err.text);
    else if (now.healthy)
        metric_add(METRIC_WATCH_LOOKS, 1);
}

static void sweep_old(struct engine *e)
{
    const struct clock_times now = clock_times();
    struct error err = { 0 };

    if (sweep_tick(e->sweep, now.wall_us, now.mono_us, &err) != 0)
        log_write(LOG_WARNING, "retention", "not looked at: %s", err.text);
}

/* Every second. */
static void tick(void *ctx, bool healthy)
{
    struct engine *e = ctx;
    int64_t now_us = clock_mono_us();

    if (e->ticks % SIZE_PERIOD_S == 0)
        look_at_store(e);
    if (++e->ticks % SAVE_PERIOD_S == 0)
        last_seen_save(e->last_seen, e->writer);
    if (now_us - e->uses_stored_us >= (int64_t)USES_PERIOD_S * USEC_PER_SEC) {
        e->uses_stored_us = now_us;
        key_use_flush(e->registry, e->writer);
    }
    if (clock_mono_us() - e->sessions_saved_us >= (int64_t)SESSIONS_PERIOD_S * USEC_PER_SEC)
        save_sessions(e);
    if (e->silence != NULL)
        watch(e, healthy);
    if (e->sweep != NULL && healthy && writer_is_healthy(e->writer))
        sweep_old(e);
}

static void start_watches(struct engine *e)
{
    const struct silence_options silence = { e->watch_db, e->last_seen, e->writer, e->shared };
    const struct stuck_options stuck = { e->watch_db, e->writer };
    const struct threshold_watch_options thresholds = { e->readers, e->writer, e->prices };
    const struct sweep_options sweep = { e->watch_db, e->writer, e->log };
    const struct mutes_options mutes = { e->watch_db, e->writer };
    const struct silence_now now = now_of(e, true);

    e->silence = silence_new(&silence, &now);
    e->stuck = stuck_new(&stuck, now.wall_us, now.mono_us);
    e->thresholds = threshold_watch_new(&thresholds, now.mono_us);
    e->sweep = sweep_new(&sweep, now.wall_us, now.mono_us);
    e->mutes = mutes_new(&mutes);
    watch(e, true); /* before the first report: which one ends a silence is known from here on */
}

static int start_courier(struct engine *e, const struct engine_options *options, struct error *err)
{
    const struct courier_options courier = { .db = e->courier_db,
                                             .writer = e->writer,
                                             .vault = e->vault,
                                             .rules = options->webhook_rules,
                                             .mail = options->mail,
                                             .delivers = options->serves };

    e->webhooks = (struct webhooks_context){ e->vault, options->webhook_rules };
    return courier_new(&courier, &e->courier, err);
}

static int start(struct engine *e, const struct engine_options *options, struct error *err)
{
    const struct writer_options writer = { .dbs = e->write_dbs,
                                           .groups = e->groups,
                                           .group_methods = &ingest_group_methods,
                                           .n_dbs = e->n_write_dbs,
                                           .limits = options->writer,
                                           .on_fatal = options->on_fatal,
                                           .ctx = options->ctx };

    const struct feed_options live = { .listeners_max = options->live_max,
                                       .per_tenant_max = options->live_max_per_tenant,
                                       .shared = e->shared };
    struct watcher_options watcher = { .db = e->watch_db, .tick = tick, .ctx = e };

    watcher.registry = e->registry = registry_new();
    watcher.sessions = e->sessions = sessions_new();
    e->sessions_saved_us = clock_mono_us();
    e->throttle = throttle_new();
    e->last_seen = last_seen_new();
    e->prices = prices_new();
    e->token_guesses = token_guess_limiter_new();
    e->uses_stored_us = clock_mono_us();
    e->exports = exports_new(options->database);
    e->feed = feed_new(&live);
    e->vault = vault_new(options->key_file);
    if (options->serves && vault_start(e->vault, e->write_dbs[0], err) != 0)
        return -1;
    if (event_log_new(e->write_dbs[0], &e->log, err) != 0)
        return -1;
    for (size_t i = 0; i < e->n_write_dbs; i++) {
        e->groups[i] = ingest_group_new(e->log, e->registry, e->last_seen);
        ingest_group_set_feed(e->groups[i], e->feed);
    }
    if (registry_refresh(e->registry, e->watch_db, err) != 0 ||
        sessions_refresh(e->sessions, e->watch_db, err) != 0 ||
        writer_new(&writer, &e->writer, err) != 0 ||
        readers_new(e->read_dbs, e->n_read_dbs, options->reads_max, &e->readers, err) != 0)
        return -1;
    look_at_store(e);
    if (e->hash_db != NULL && readers_new(&e->hash_db, 1, HASHES_MAX, &e->hashers, err) != 0)
        return -1;
    if (options->serves)
        start_watches(e);
    if (watcher_new(&watcher, &e->watcher, err) != 0)
        return -1;
    return start_courier(e, options, err);
}

static void stop_threads(struct engine *e)
{
    exports_free(e->exports);
    courier_free(e->courier); /* while there is a writer: it waits for what it asked of it */
    watcher_free(e->watcher);
    readers_free(e->hashers); /* what was hashed is still stored */
    if (e->writer != NULL) {
        last_seen_save(e->last_seen, e->writer);
        key_use_flush(e->registry, e->writer);
        save_sessions(e);
    }
    writer_stop(e->writer); /* before the readers: a change is followed by a read */
    readers_free(e->readers);
    writer_free(e->writer); /* after them: a read may still ask it, and be refused */
    feed_free(e->feed);
    e->feed = NULL;
    e->exports = NULL;
    e->courier = NULL;
    e->watcher = NULL;
    e->writer = NULL;
    e->readers = NULL;
    e->hashers = NULL;
}

static void close_all(struct engine *e)
{
    stop_threads(e);
    for (size_t i = 0; i < e->n_write_dbs; i++)
        ingest_group_free(e->groups[i]);
    if (e->log != NULL)
        e->log->methods->free(e->log);
    silence_free(e->silence);
    stuck_free(e->stuck);
    threshold_watch_free(e->thresholds);
    sweep_free(e->sweep);
    mutes_free(e->mutes);
    last_seen_free(e->last_seen);
    registry_free(e->registry);
    prices_free(e->prices);
    vault_free(e->vault);
    token_guess_limiter_free(e->token_guesses);
    sessions_free(e->sessions);
    throttle_free(e->throttle);
    db_close(e->courier_db);
    db_close(e->watch_db);
    db_close(e->hash_db);
    for (size_t i = 0; i < e->n_read_dbs; i++)
        db_close(e->read_dbs[i]);
    for (size_t i = 0; i < e->n_write_dbs; i++)
        db_close(e->write_dbs[i]);
    free(e);
}

int engine_new(const struct engine_options *options, struct engine **ret, struct error *err)
{
    struct engine *e = NEW(struct engine);

    if (open_databases(e, options, err) != 0 || start(e, options, err) != 0) {
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
    if (db_checkpoint(e->write_dbs[0], &err) != 0) /* the next start does it otherwise */
        log_write(LOG_WARNING, "checkpoint", "not done at the end: %s", err.text);
    close_all(e);
}

struct registry *engine_registry(struct engine *e)
{
    return e->registry;
}

struct sessions *engine_sessions(struct engine *e)
{
    return e->sessions;
}

struct throttle *engine_throttle(struct engine *e)
{
    return e->throttle;
}

struct writer *engine_writer(struct engine *e)
{
    return e->writer;
}

struct event_log *engine_event_log(struct engine *e)
{
    return e->log;
}

struct last_seen *engine_last_seen(struct engine *e)
{
    return e->last_seen;
}

struct prices *engine_prices(struct engine *e)
{
    return e->prices;
}

struct vault *engine_vault(struct engine *e)
{
    return e->vault;
}

struct token_guess_limiter *engine_token_guesses(struct engine *e)
{
    return e->token_guesses;
}

struct feed *engine_feed(struct engine *e)
{
    return e->feed;
}

struct exports *engine_exports(struct engine *e)
{
    return e->exports;
}

struct courier *engine_courier(struct engine *e)
{
    return e->courier;
}

const struct webhooks_context *engine_webhooks(const struct engine *e)
{
    return &e->webhooks;
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

bool engine_is_healthy(const struct engine *e)
{
    return writer_is_healthy(e->writer) && watcher_is_healthy(e->watcher);
}

void engine_stats(struct engine *e, struct engine_stats *ret)
{
    *ret = (struct engine_stats){ .healthy = engine_is_healthy(e),
                                  .reads_waiting = readers_waiting(e->readers),
                                  .exports = exports_running(e->exports),
                                  .store_bytes = atomic_load(&e->store_bytes),
                                  .alerts_open = atomic_load(&e->alerts_open),
                                  .registry_number = registry_number(e->registry) };
    writer_waiting(e->writer, &ret->queue_events, &ret->queue_bytes);
}

bool engine_is_shared(const struct engine *e)
{
    return e->shared;
}
