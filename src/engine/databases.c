/* databases.c - the connections of the engine: which there are, and to what. */
#include <string.h>

#include "db/distribution.h"
#include "db/embedded.h"
#include "db/migrate.h"
#include "db/servers.h"
#include "engine/database_clock.h"
#include "engine/engine_state.h"

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

int engine_open_databases(struct engine *e, struct error *err)
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

void engine_close_databases(struct engine *e)
{
    db_close(e->listen_db);
    db_close(e->watch_db);
    db_close(e->hash_db);
    for (size_t i = 0; i < e->n_read_dbs; i++)
        db_close(e->read_dbs[i]);
    for (size_t i = 0; i < e->n_txns; i++)
        db_close(e->txns[i].db);
}
