/* sqlite.h - what the files of the SQLite driver share; private to this folder (and its tests). */
#pragma once
#include <sqlite3.h>

#include "db/cache.h"
#include "db/driver.h"

struct sqlite {
    struct db base;
    sqlite3 *handle;
    enum db_mode mode;
    struct db_cache statements;
    int64_t changes;
    int64_t began_us;         /* a reader's current statement, monotonic */
    int64_t until_us;         /* when a reader in a hurry gives up, monotonic; 0: it is in none */
    size_t given;             /* bytes that were asked of rows since it is */
    bool (*go_on)(void *ctx); /* a keeper's; NULL: nobody wants to be asked */
    void *go_on_ctx;
    int log_pages;       /* length of the log after the last commit */
    int checkpointed_at; /* its length when we last checkpointed */
    bool log_grew;       /* a commit happened since anyone looked */
    bool broken;         /* an I/O error hit the writer: nothing may be tried again */
};

/* Is it in a hurry, and was that in vain? */
static inline bool db_sqlite_is_late(const struct sqlite *s, int64_t now_us)
{
    return s->until_us != 0 && now_us > s->until_us;
}

/* Turns SQLite's `code` and its message into an error. Returns -1. */
int db_sqlite_fail(struct sqlite *s, int code, struct error *err);

/* The driver's exec. */
int db_sqlite_exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                   void *ctx, struct error *err);

/* Finalises what `statements` holds. */
void db_sqlite_forget_statements(struct sqlite *s);

/* To be called after whatever may have committed: moves the log into the file when it has grown
 * long. An I/O error here is the caller's, since a sync failed. */
int db_sqlite_after_commit(struct sqlite *s, struct error *err);
