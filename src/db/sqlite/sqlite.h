/* sqlite.h - what the files of the SQLite driver share; private to this folder (and its tests). */
#pragma once
#include <sqlite3.h>

#include "base/map.h"
#include "db/driver.h"

enum { SQLITE_BUSY_TIMEOUT_MS = 5000, JOURNAL_SIZE_LIMIT = 64 << 20 };

struct sqlite {
    struct db base;
    sqlite3 *handle;
    enum db_mode mode;
    struct map statements;    /* by db_query_key() */
    int64_t began_us;         /* a reader's current statement, monotonic */
    int64_t transaction_us;   /* a reader's current transaction, monotonic */
    int64_t until_us;         /* a reader's deadline, monotonic; 0: none */
    size_t given;             /* bytes read from rows since the deadline was set */
    bool (*go_on)(void *ctx); /* see db_watch(); NULL: none */
    void *go_on_ctx;
    int log_pages;            /* length of the log after the last commit */
    int checkpointed_at;      /* its length when we last checkpointed */
    int log_max_pages;        /* its ceiling; 0: none */
    int restart_at;           /* its length at which it is restarted */
    int64_t restart_until_us; /* how long the writer waits for readers, monotonic */
    struct mover *mover;      /* NULL: none was needed yet */
    int moves;                /* asked of the mover, one after the other; 0: it is idle */
    int asked_at;             /* length of the log when it was last asked */
    bool log_grew;            /* a commit happened since the last check */
    int log_fd;               /* for db_sync(); -1: each commit is synced */
    bool stuck;               /* a rollback found no memory: the transaction is still open */
    bool broken;              /* an I/O error hit the writer: nothing may be tried again */
};

/* Has the deadline passed? */
static inline bool db_sqlite_is_late(const struct sqlite *s, int64_t now_us)
{
    return s->until_us != 0 && now_us > s->until_us;
}

/* For every connection that is opened after it: see log_index.c. */
void db_sqlite_place_index(void);

/* Turns SQLite's `code` and its message into an error. Returns -1. */
int db_sqlite_fail(struct sqlite *s, int code, struct error *err);

/* ERR_IO: the connection is broken. Returns -1. */
int db_sqlite_refuse(struct error *err);

/* The driver's exec. */
int db_sqlite_exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                   void *ctx, struct error *err);

/* Ends the transaction that a rollback left open for want of memory. False: it is open still. */
bool db_sqlite_unstick(struct sqlite *s);

/* Finalises what `statements` holds. */
void db_sqlite_forget_statements(struct sqlite *s);

/* Has the current statement, or its transaction, taken all the time that a reader has? */
bool db_sqlite_is_over_time(const struct sqlite *s, int64_t now_us);

/* --- log.c --- */

/* A read begins outside a transaction: waits while the writer restarts the log. False when it has a
 * deadline and must not wait. */
bool db_sqlite_may_start_reading(const struct sqlite *s);

/* Must a reader end that has been reading for so long? */
bool db_sqlite_is_hurried(int64_t reading_us);

/* Before the writer begins a transaction: restarts a log that is near its ceiling. */
int db_sqlite_before_write(struct sqlite *s, struct error *err);

/* Call after anything that may have committed: checkpoints when the log has grown long, or has that
 * done. An I/O error here fails the caller, since a sync failed. */
int db_sqlite_after_commit(struct sqlite *s, struct error *err);

/* Waits for the mover, if it works. ERR_IO: it failed. */
int db_sqlite_await_mover(struct sqlite *s, struct error *err);

/* Waits for the mover first. */
void db_sqlite_free_mover(struct sqlite *s);

/* The driver's sync. */
int db_sqlite_sync(struct db *db, struct error *err);
