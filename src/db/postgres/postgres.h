/* postgres.h - what the files of the PostgreSQL driver share; private to this folder. */
#pragma once
#include <libpq-fe.h>

#include "base/buf.h"
#include "base/map.h"
#include "db/driver.h"
#include "db/servers.h"

struct postgres {
    struct db base;
    PGconn *conn; /* NULL when lost; the next transaction makes a new one */
    char *url;    /* may hold a password: never printed */
    char *host;   /* with port: instead of the URL's; NULL: as the URL says */
    char *port;
    int64_t group;    /* of the server, as Citus numbers them */
    int64_t timeline; /* of the server; 0: unknown */
    enum db_mode mode;
    bool guarded;           /* see db_guard() */
    bool inside;            /* a transaction was begun, and not ended since */
    bool noted;             /* it failed, and the failure was passed to servers_note() */
    unsigned session;       /* counts connections: statements of an earlier one are gone */
    unsigned n_names;       /* of prepared statements */
    unsigned listens_in;    /* the session that listens; 0: none */
    unsigned says_in;       /* the session that knows the commands of later.c; 0: none */
    struct map statements;  /* by db_query_key() */
    struct buf text;        /* texts of the current call, each ended by NUL as libpq wants them */
    int64_t transaction_us; /* when it began, by the raw clock */
    int wait_ms;            /* for an answer */
    bool keeps_plans;   /* this transaction uses kept plans: all of its statements say keeps_plan */
    unsigned n_later;   /* statements that were sent and not yet answered */
    unsigned rows_at;   /* index of the statement among them that returns rows */
    db_row_fn *rows_fn; /* gets its rows; NULL: there is no such statement */
    void *rows_ctx;
    unsigned n_keeping, n_other; /* its statements with keeps_plan, and without */
    bool warned;                 /* the server sent a WARNING since this was last cleared */
};

#define DB_POSTGRES_SET_TIMEOUT "SET statement_timeout = '30s'"
/* Session settings. Formats: as the driver parses results. Custom plans: a generic plan is made for
 * the average tenant, or for tables that were empty at the time; for exceptions see
 * db_postgres_expect_kept_plans(). No JIT: code compiled for a custom plan would be used only
 * once. */
#define DB_POSTGRES_SET_FORMS                                                                      \
    "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex';"                       \
    "SET extra_float_digits = 1; SET standard_conforming_strings = on;"                            \
    "SET plan_cache_mode = force_custom_plan; SET jit = off; SET lock_timeout = '10s';"
/* On Citus. A statement over all shards, such as those of the watcher in each second, would open up
 * to 16 sessions of each worker, and end all but one of them after it. */
#define DB_POSTGRES_SET_CITUS "SET citus.max_adaptive_executor_pool_size = 1"
/* Of a reader: as with SQLite, for each statement; and between two of a transaction. */
#define DB_POSTGRES_SET_READER                                                                     \
    "SET default_transaction_read_only = on; SET statement_timeout = '4500ms';"                    \
    "SET idle_in_transaction_session_timeout = '10s'"
#define DB_POSTGRES_SET_GUARDED "SET statement_timeout = '4500ms'"
enum {
    DB_POSTGRES_TRANSACTION_MAX_US = 10000000, /* of a reader */
    DB_POSTGRES_READ_MAX_MS = 4500,            /* of its statement, as above */
    DB_POSTGRES_WAIT_MS = 40000,               /* longer than the server's own */
    DB_POSTGRES_SHORT_WAIT_MS = 4900,          /* of a reader, and of one that is guarded */
    DB_POSTGRES_BYTES_MAX = 64 << 20, /* of a blob, or all texts of a call; SQLite's limit too */
};

/* --- connect.c --- */

/* Will libpq read the URL as it was meant? */
int db_postgres_check_url(const char *url, struct error *err);

/* Connects, sets the session up and refuses a server that is not safe. */
int db_postgres_connect(struct postgres *pg, struct error *err);

/* Fails with ERR_UNAVAILABLE and drops the connection if this process has since been connected to a
 * server with a later timeline: this one is a former primary. */
int db_postgres_check_timeline(struct postgres *pg, struct error *err);

/* --- postgres.c --- */

#define DB_POSTGRES_BEGIN_WRITER "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
#define DB_POSTGRES_KEEP_PLANS   "SET LOCAL plan_cache_mode = force_generic_plan"

struct address {
    const char *url;         /* libpq can read it */
    const char *host, *port; /* instead of the URL's; NULL: as it says */
};

/* As db_postgres_open(). */
int db_postgres_open_at(const struct address *at, enum db_mode mode, struct db **ret,
                        struct error *err);

/* Before a transaction or a statement outside one: asks the circuit breaker, and makes a connection
 * if there is none that works. */
int db_postgres_ready(struct postgres *pg, struct error *err);

/* Passes the result of a transaction to the circuit breaker. */
void db_postgres_note(struct postgres *pg, enum met met);

/* --- wire.c --- */

/* Ends the connection; statements are forgotten by their session number. */
void db_postgres_drop(struct postgres *pg);

/* After a failed PQsend…(), or a result that is an error: says why and returns -1. `result` may be
 * NULL. Drops the connection when it cannot be used any longer. */
int db_postgres_fail(struct postgres *pg, const PGresult *result, struct error *err);

/* The connection leads to a pooler that shares sessions, which is not supported: sets the error,
 * drops the connection and returns -1. */
int db_postgres_fail_shared(struct postgres *pg, struct error *err);

/* Sends out what PQsend…() queued. */
int db_postgres_flush(struct postgres *pg, struct error *err);

/* The next result, or NULL after the last one. The caller clears *ret. */
int db_postgres_next(struct postgres *pg, PGresult **ret, struct error *err);

/* Reads all results and keeps the first error; `on_row` sees the rows. Counts changes. */
int db_postgres_finish(struct postgres *pg, db_row_fn *on_row, void *ctx, struct error *err);

/* Passes one result on; false in *ret_more when on_row has returned false. */
int db_postgres_take(struct postgres *pg, PGresult *result, db_row_fn *on_row, void *ctx,
                     bool *ret_more, struct error *err);

/* One or more commands without parameters. */
int db_postgres_run(struct postgres *pg, const char *sql, db_row_fn *on_row, void *ctx,
                    struct error *err);

/* --- statement.c --- */

/* The driver's exec. */
int db_postgres_exec(struct db *db, const struct db_query *q, struct db_args args,
                     db_row_fn *on_row, void *ctx, struct error *err);

void db_postgres_forget_statements(struct postgres *pg);

/* A writer's transaction begins. True: its statements are expected to be such as keep their plans,
 * as those of the last transaction were, and BEGIN must say so; another one takes that back. */
bool db_postgres_expect_kept_plans(struct postgres *pg);

/* Prepares the statement if need be and sends it with its arguments; `later`: in a pipeline. */
int db_postgres_send(struct postgres *pg, const struct db_query *q, struct db_args args, bool later,
                     struct error *err);

/* --- later.c: statements that are sent with the next one --- */

/* The driver's exec_later. */
int db_postgres_exec_later(struct db *db, const struct db_query *q, struct db_args args,
                           db_row_fn *on_row, void *ctx, struct error *err);

/* Waits for those that were sent, and passes on no rows. */
void db_postgres_discard(struct postgres *pg);

/* BEGIN of a writer, in the turn of what follows; `keeps_plans`: as db_postgres_expect_kept_plans()
 * says. */
int db_postgres_begin_later(struct postgres *pg, bool keeps_plans, struct error *err);

/* Waits for those that were sent. Does nothing if there are none. */
int db_postgres_settle(struct postgres *pg, struct error *err);

/* Waits for those that were sent, the last of which has rows. */
int db_postgres_settle_rows(struct postgres *pg, db_row_fn *on_row, void *ctx, struct error *err);

/* COMMIT, after those that were sent and in the same turn. */
int db_postgres_settle_commit(struct postgres *pg, struct error *err);

/* --- script.c: the driver's script --- */

int db_postgres_script(struct db *db, const char *sql, struct error *err);

/* The first statement of *rest, which is then what follows it; STR_NULL when only comments are
 * left. Knows quotes, comments and dollar quotes. */
struct str db_postgres_next_statement(struct str *rest);

/* Passes the rows of `result` to on_row; false when it returned false. */
bool db_postgres_rows(const PGresult *result, db_row_fn *on_row, void *ctx);
