/* driver.h - what a database driver implements; private to this folder. */
#pragma once
#include <assert.h>
#include <stdatomic.h>

#include "db/db.h"

struct db_driver {
    const char *dialect; /* "sqlite", "postgres" */
    void (*close)(struct db *db);
    int (*begin)(struct db *db, struct error *err);
    int (*commit)(struct db *db, struct error *err);
    void (*rollback)(struct db *db);
    int (*exec)(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                void *ctx, struct error *err);
    int (*exec_later)(struct db *db, const struct db_query *q, struct db_args args,
                      db_row_fn *on_row, void *ctx, struct error *err); /* may be NULL */
    int (*script)(struct db *db, const char *sql, struct error *err);
    int (*sync)(struct db *db, struct error *err); /* any thread; NULL: see db_may_defer_sync() */
};

/* Columns of a row, one set per driver. */
struct db_row_methods {
    bool (*is_null)(const struct db_row *row, unsigned column);
    int64_t (*get_int)(const struct db_row *row, unsigned column);
    double (*get_real)(const struct db_row *row, unsigned column);
    struct str (*get_bytes)(const struct db_row *row, unsigned column, enum db_type type);
    struct str (*peek_text)(const struct db_row *row, unsigned column); /* see db_set_deadline():
                                                                         * costs no output */
    unsigned (*columns)(const struct db_row *row);
    const char *(*column_name)(const struct db_row *row, unsigned column);
};

enum { DB_NUMBER_SLOTS = 4096 };

struct db {
    const struct db_driver *driver; /* first member of every driver's connection */
    struct sqlite *file;            /* what only SQLite has, see embedded.h; or NULL */
    struct postgres *server;        /* what only PostgreSQL has, see servers.h; or NULL */
    int64_t changes;                /* see db_changes(); the driver sets it */
    int64_t read_max_us;            /* see db_set_read_max(); 0: not set */
    bool skip_damaged;              /* see db_set_skip_damaged() */
    int64_t n_skipped;              /* rows that were left out for it */
    bool contended;                 /* see db_was_contended(); the driver sets it */
    bool citus;                     /* see db_has_citus(); the driver sets it */
    bool distributed;               /* see db_is_distributed(); the driver sets it */
    bool worker;                    /* see db_is_worker(); the driver sets it */
    int64_t number_at;              /* the time in the last db_number() */
    int64_t session;                /* see db_session(); the driver sets it */
    struct servers *servers;        /* see servers.h; NULL: the database is here */
    int64_t place;                  /* see db_set_place() */
    int64_t number_slot;            /* the low digits of each number; the driver sets it */
    atomic_bool in_use;             /* one thread at a time; checked by asserts */
};

struct db_row {
    const struct db_row_methods *methods; /* first member of every driver's row */
};

/* Asserts that no other thread uses the connection meanwhile, and no row callback either. */
static inline void db_begin_use(struct db *db)
{
#ifdef NDEBUG
    (void)db;
#else
    const bool in_use = atomic_exchange(&db->in_use, true);

    assert(!in_use);
#endif
}

static inline int db_end_use(struct db *db, int r)
{
    atomic_store_explicit(&db->in_use, false, memory_order_release);
    return r;
}

/* The key of a query in a map of prepared statements: its address, since queries are static. */
static inline struct str db_query_key(const struct db_query *const *query)
{
    return str_from((const char *)query, sizeof(*query));
}

/* ERR_INTERNAL: fewer arguments than parameters. Returns -1. */
int db_fail_args(struct db_args args, unsigned n_params, struct error *err);

int db_sqlite_open(const char *path, enum db_mode mode, struct db **ret, struct error *err);
int db_postgres_open(const char *url, enum db_mode mode, struct db **ret, struct error *err);
