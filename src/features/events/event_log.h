/* event_log.h - stores events: appends and deduplicates them, and updates their runs.
 *
 * SQLite and PostgreSQL need different implementations (event_log_sqlite.c,
 * event_log_postgres.c); the results are the same.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct db;
struct engine;
struct event_log;
struct telemetry_event;

/* An event to store. `tenant_id` is that of the API key, never of the body. */
struct event_item {
    int64_t tenant_id, agent_id;
    int64_t received_at;
    const struct telemetry_event *event;
    bool duplicate; /* set by add() */
    int run_status; /* set by add() if it is stored: the run's status after it, enum run_status */
    int64_t run_no, event_no; /* set by add() if it is stored */
    int64_t run_events; /* set by PostgreSQL's add() if it is stored: the run's number of events,
                           this one included */
    bool watched;       /* for the caller; not used here */
    bool no_room;       /* the tenant has reached its quota: add() looks for a duplicate and stores
                           nothing */
};

/* After add(). */
static inline bool event_item_is_stored(const struct event_item *item)
{
    return !item->duplicate && !item->no_room;
}

struct event_log_methods {
    void (*free)(struct event_log *log);

    /* Stores all items that are not duplicates and have room, in order of arrival, and updates
     * their runs. The arena is scratch space. In a transaction of `db`. */
    int (*add)(struct event_log *log, struct db *db, struct event_item *items, size_t n,
               struct arena *arena, struct error *err);

    /* After add(): stores what the log itself has to, such as the new ids of SQLite. */
    int (*save)(struct event_log *log, struct db *db, struct error *err);

    /* The end of the transaction, which had these items. */
    void (*committed)(struct event_log *log, const struct event_item *items, size_t n);
    void (*rolled_back)(struct event_log *log);

    /* Other code has changed runs: drops cached run states. */
    void (*forget)(struct event_log *log);

    /* Called when the run is deleted in this transaction. The writer's thread. */
    void (*run_gone)(struct event_log *log, int64_t tenant_id, struct str run_id);

    /* The number of a committed run, or 0. Any thread, outside a transaction. */
    int (*find_run)(struct event_log *log, struct db *db, int64_t tenant_id, struct str run_id,
                    int64_t *ret, struct error *err);
};

struct event_log {
    const struct event_log_methods *methods; /* first member of every implementation */
};

/* `db` is the writer's connection, migrated. The caller owns *ret. */
int event_log_new(struct db *db, struct event_log **ret, struct error *err) MUST_CHECK;

int event_log_sqlite_new(struct db *db, struct event_log **ret, struct error *err) MUST_CHECK;
int event_log_postgres_new(struct event_log **ret);

/* The engine's. Any thread. */
struct event_log *events_log(const struct engine *e);
