/* wire.c - sending, waiting with a limit, and what an answer or its absence means.
 *
 * libpq would wait forever for a server that is stopped but not dead, so the
 * socket is polled here: a server that is silent for too long counts as lost.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>

#include "db/postgres/postgres.h"

void db_postgres_drop(struct postgres *pg)
{
    PQfinish(pg->conn); /* NULL is fine */
    pg->conn = NULL;
    pg->n_later = 0;
    pg->rows_fn = NULL;
}

/* ERR_IO only if the server ended the session. After a plain error it has rolled the transaction
 * back, so all that is known is that the rows that were read are damaged. */
static enum err_code classify(const char *state, bool ended, enum db_mode mode)
{
    /* The first prefix that fits, so the longer ones stand first. */
    static const struct {
        struct str prefix;
        enum err_code code;
    } map[] = {
        { STR_INIT("53100"), ERR_FULL },     /* disk full */
        { STR_INIT("53"), ERR_UNAVAILABLE }, /* out of connections, of memory */
        { STR_INIT("57014"), ERR_BUSY },     /* statement_timeout */
        { STR_INIT("57"), ERR_UNAVAILABLE }, /* shutting down, starting up */
        { STR_INIT("08P01"), ERR_INTERNAL }, /* wrong number of parameters */
        { STR_INIT("08"), ERR_UNAVAILABLE },
        { STR_INIT("25P03"), ERR_UNAVAILABLE }, /* idle for too long in a transaction */
        { STR_INIT("28"), ERR_UNAVAILABLE },    /* log-in refused */
        { STR_INIT("3D"), ERR_UNAVAILABLE },    /* no such database */
        { STR_INIT("23"), ERR_CONSTRAINT },
        { STR_INIT("40"), ERR_BUSY },       /* deadlock, serialization */
        { STR_INIT("55P03"), ERR_BUSY },    /* lock_timeout */
        { STR_INIT("58"), ERR_IO },         /* of the system: a file, a disk */
        { STR_INIT("XX001"), ERR_IO },      /* corrupted data */
        { STR_INIT("XX002"), ERR_IO },      /* corrupted index */
        { STR_INIT("22021"), ERR_INVALID }, /* not UTF-8 */
        { STR_INIT("54000"), ERR_INVALID }, /* too large */
    };

    /* A reader that writes is our bug; a writer that may not write is connected to a standby, after
     * a failover. */
    if (strcmp(state, "25006") == 0 && mode == DB_WRITER)
        return ERR_UNAVAILABLE;
    for (size_t i = 0; i < COUNT_OF(map); i++)
        if (str_starts(str_of(state), map[i].prefix))
            return map[i].code == ERR_IO && !ended ? ERR_DAMAGED : map[i].code;
    return ERR_INTERNAL;
}

/* Is the row's number taken? db_number() may repeat one after the database's clock was set back:
 * the same transaction gets others when it is tried again. A shard's name goes on after the
 * table's. */
static bool is_number_taken(const char *state, const PGresult *result)
{
    static const char *const keys[] = { "events_pkey", "runs_pkey", "agents_pkey",
                                        "business_runs_pkey", "business_series_pkey" };
    const char *name = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);

    for (size_t i = 0; name != NULL && strcmp(state, "23505") == 0 && i < COUNT_OF(keys); i++)
        if (str_starts(str_of(name), str_of(keys[i])))
            return true;
    return false;
}

/* libpq's messages have several lines, some of them indented by a tab. */
static void join_lines(struct error *err)
{
    char *to;

    if (err == NULL)
        return;
    to = err->text;
    for (const char *at = err->text; *at != '\0'; at++) {
        const bool space = *at == '\n' || *at == '\t';

        if (space && (at[1] == '\0' || at[1] == '\t'))
            continue;
        *to++ = (char)(space ? ' ' : *at);
    }
    *to = '\0';
}

/* The connection is lost; libpq's message says why. */
static void say_lost(struct postgres *pg, const char *message, struct error *err)
{
    err_set(err, ERR_UNAVAILABLE, "PostgreSQL: %s%s",
            strstr(message, "session is read-only") == NULL
                ? ""
                : "a standby takes no changes, give the URL of the primary, or of both: ",
            message);
    join_lines(err);
    db_postgres_drop(pg);
}

/* Citus has no code of its own for a server that is lost in the middle of a transaction: it passes
 * on what libpq said, or says that the connection was essential. */
static bool is_loss(const PGresult *result, const char *state)
{
    static const struct str lost[] = {
        STR_INIT("failure on connection marked as essential"),
        STR_INIT("server closed the connection unexpectedly"),
        STR_INIT("SSL "), /* SYSCALL error: EOF detected, and others */
        STR_INIT("could not receive data from server"),
        STR_INIT("could not send data to server"),
        STR_INIT("no connection to the server"),
        STR_INIT("connection not open"),
        STR_INIT("cannot connect to "),
        STR_INIT("failed to read result "),
        STR_INIT("failed to prepare transaction "),
    };
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    for (size_t i = 0; text != NULL && strcmp(state, "XX000") == 0 && i < COUNT_OF(lost); i++)
        if (str_starts(str_of(text), lost[i]))
            return true;
    return false;
}

/* Citus says it of its own server, whose sessions are about to end, in an error like any other. */
static bool is_end(const PGresult *result, const char *state)
{
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    return text != NULL && strcmp(state, "XX000") == 0 &&
           str_starts(str_of(text), STR_LIT("postmaster was shut down"));
}

/* Is the session still usable after this error? A server's own failure has the severity FATAL. */
static bool goes_on(const struct postgres *pg, const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    return PQstatus(pg->conn) == CONNECTION_OK && severity != NULL &&
           strcmp(severity, "ERROR") == 0;
}

/* The session is still usable, so this server is fine: another server of the distributed database
 * cannot be reached, or is shutting down. */
static bool is_of_another(const struct postgres *pg, const PGresult *result, const char *state)
{
    return pg->base.distributed && goes_on(pg, result) &&
           ((str_starts(str_of(state), STR_LIT("08")) && strcmp(state, "08P01") != 0) ||
            str_starts(str_of(state), STR_LIT("57P")) || is_loss(result, state));
}

int db_postgres_fail_shared(struct postgres *pg, struct error *err)
{
    db_postgres_drop(pg);
    return err_set(err, ERR_UNAVAILABLE,
                   "database leads to a pooler that shares sessions (PgBouncer with pool_mode = "
                   "transaction or statement): let it lead to PostgreSQL itself, or to a pool with "
                   "pool_mode = session");
}

/* Prepared statements collide or disappear only in a session that a pooler shares among
 * connections. The last one is PgBouncer's own error, in the mode that refuses transactions. */
static bool is_shared(const PGresult *result, const char *state)
{
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    return strcmp(state, "42P05") == 0 || strcmp(state, "26000") == 0 ||
           (strcmp(state, "08P01") == 0 && text != NULL &&
            strstr(text, "statement pooling mode") != NULL);
}

#define LET_OWN                                                                                    \
    ": let the role of the URL own the database and its tables (ALTER DATABASE … OWNER TO …)"

/* Is the right to create tables missing, or to use the tables of another role? Functions do not
 * count: a provider may reserve them. */
static bool lacks_rights(const PGresult *result, const char *state)
{
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    return strcmp(state, "42501") == 0 && text != NULL && strstr(text, " function ") == NULL;
}

/* Which server failed is known only if the transaction concerns a single place. */
static void note_failure(struct postgres *pg, const char *state, bool other)
{
    if (pg->base.place == 0)
        return;
    if (other)
        db_postgres_note(pg, MET_REFUSAL);
    else if (strcmp(state, "57014") == 0)
        db_postgres_note(pg, MET_SLOW);
}

int db_postgres_fail(struct postgres *pg, const PGresult *result, struct error *err)
{
    const char *state = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    enum err_code code;
    bool other;

    if (pg->conn == NULL)
        return err_set(err, ERR_UNAVAILABLE, "PostgreSQL: the connection was lost earlier");
    if (state == NULL) { /* from libpq: the server did not answer */
        say_lost(pg, PQerrorMessage(pg->conn), err);
        return -1;
    }
    if (is_end(result, state)) {
        say_lost(pg, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), err);
        return -1;
    }
    if (is_shared(result, state))
        return db_postgres_fail_shared(pg, err);
    pg->base.contended = str_starts(str_of(state), STR_LIT("40")) || is_number_taken(state, result);
    other = is_of_another(pg, result, state);
    code = pg->base.contended ? ERR_BUSY
           : other            ? ERR_UNAVAILABLE
                              : classify(state, !goes_on(pg, result), pg->mode);
    note_failure(pg, state, other);
    err_set(err, code, "PostgreSQL: %s (%s)%s", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
            state, lacks_rights(result, state) ? LET_OWN : "");
    join_lines(err);
    if ((code == ERR_UNAVAILABLE && !other) || PQstatus(pg->conn) != CONNECTION_OK)
        db_postgres_drop(pg);
    return -1;
}

/* Waits until the socket is ready and reads what has come. */
static int wait_for(struct postgres *pg, short events, struct error *err)
{
    struct pollfd fd = { .fd = PQsocket(pg->conn), .events = events };
    int n;

    assert(pg->conn != NULL);
    do
        n = poll(&fd, 1, pg->wait_ms);
    while (n < 0 && errno == EINTR);
    if (n == 0) {
        say_lost(pg, "no answer in time", err);
        db_postgres_note(pg, MET_SILENCE);
        return -1;
    }
    if (n < 0 || ((fd.revents & ~POLLOUT) != 0 && PQconsumeInput(pg->conn) == 0))
        return db_postgres_fail(pg, NULL, err);
    return 0;
}

int db_postgres_flush(struct postgres *pg, struct error *err)
{
    int unsent;

    while ((unsent = PQflush(pg->conn)) == 1)
        if (wait_for(pg, POLLIN | POLLOUT, err) != 0)
            return -1;
    return unsent == 0 ? 0 : db_postgres_fail(pg, NULL, err);
}

int db_postgres_next(struct postgres *pg, PGresult **ret, struct error *err)
{
    while (PQisBusy(pg->conn))
        if (wait_for(pg, POLLIN, err) != 0)
            return -1;
    *ret = PQgetResult(pg->conn);
    return 0;
}

/* SELECT has a count in its tag too, of rows that it did not change. */
static int64_t count_changes(PGresult *result)
{
    struct str tag = str_of(PQcmdStatus(result));
    int64_t n = 0;

    if (!str_starts(tag, STR_LIT("SELECT")))
        (void)str_to_int(str_of(PQcmdTuples(result)), &n);
    return n;
}

int db_postgres_take(struct postgres *pg, PGresult *result, db_row_fn *on_row, void *ctx,
                     bool *ret_more, struct error *err)
{
    switch (PQresultStatus(result)) {
    case PGRES_SINGLE_TUPLE:
    case PGRES_TUPLES_OK:
        if (on_row != NULL && *ret_more)
            *ret_more = db_postgres_rows(result, on_row, ctx);
        pg->base.changes = count_changes(result);
        return 0;
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
        pg->base.changes = count_changes(result);
        return 0;
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH: /* would come again and again */
        db_postgres_drop(pg);
        return err_set(err, ERR_INTERNAL, "PostgreSQL: COPY is not used here");
    default:
        return db_postgres_fail(pg, result, err);
    }
}

/* When on_row has enough, the rest is read and dropped: cancelling would undo what the statement
 * has written and spoil the transaction around it. */
int db_postgres_finish(struct postgres *pg, db_row_fn *on_row, void *ctx, struct error *err)
{
    bool more = true, failed = false;
    PGresult *result;

    pg->base.changes = 0;
    if (db_postgres_flush(pg, err) != 0)
        return -1;
    while (pg->conn != NULL) {
        /* Of several errors the first is the cause. */
        struct error *why = failed ? NULL : err;

        if (db_postgres_next(pg, &result, why) != 0)
            return -1;
        if (result == NULL)
            break;
        if (db_postgres_take(pg, result, on_row, ctx, &more, why) != 0)
            failed = true;
        PQclear(result);
    }
    return failed ? -1 : 0;
}

int db_postgres_run(struct postgres *pg, const char *sql, db_row_fn *on_row, void *ctx,
                    struct error *err)
{
    if (db_postgres_settle(pg, err) != 0)
        return -1;
    if (pg->conn == NULL || PQsendQuery(pg->conn, sql) == 0)
        return db_postgres_fail(pg, NULL, err);
    return db_postgres_finish(pg, on_row, ctx, err);
}
