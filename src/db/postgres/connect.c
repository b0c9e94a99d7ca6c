/* connect.c - connecting, and refusing a server that could lose what it has confirmed.
 *
 * When a standby takes over, its timeline grows. If the old primary comes back unfenced and accepts
 * writes, those will be lost, and keys that were revoked since are still valid there. So a process
 * that has been connected to the new primary refuses the old one on all of its connections.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"

#include "db/postgres/postgres.h"

/* libpq's error would quote the URL, so it is not passed on. */
int db_postgres_check_url(const char *url, struct error *err)
{
    const char *body = strstr(url, "://") + 3;
    size_t first = strcspn(body, "@/?");
    const char *late_at = strchr(body + first + (body[first] == '@'), '@');
    PQconninfoOption *options;
    char *why = NULL;
    bool no_memory;

    /* libpq would take a part of the password for a host and quote it. */
    if (late_at != NULL)
        return err_set(err, ERR_INVALID,
                       "the PostgreSQL URL has an '@', '/' or '?' inside the user, password or "
                       "options: write %%40, %%2F, %%3F");
    options = PQconninfoParse(url, &why);
    no_memory = options == NULL && (why == NULL || strstr(why, "out of memory") != NULL);
    PQfreemem(why); /* it may quote the password */
    if (no_memory)
        return err_set(err, ERR_UNAVAILABLE, "out of memory for a connection");
    if (options == NULL)
        return err_set(err, ERR_INVALID,
                       "cannot parse the PostgreSQL URL; it should look like "
                       "postgresql://USER:PASSWORD@HOST:PORT/DATABASE");
    PQconninfoFree(options);
    return 0;
}

/* Notices would go to standard error; a warning may take a success back (see postgres_commit). */
static void on_notice(void *ctx, const PGresult *result)
{
    struct postgres *pg = ctx;
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (severity != NULL && strcmp(severity, "WARNING") == 0)
        pg->warned = true;
}

static int set_up(struct postgres *pg, struct error *err)
{
    /* An operator may ask for more than `on` (remote_apply), never for less. */
    static const char *const common =
        "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
        " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, "
        "false);" DB_POSTGRES_SET_FORMS DB_POSTGRES_SET_TIMEOUT
        ";SET idle_in_transaction_session_timeout = '60s'";

    if (db_postgres_run(pg, common, NULL, NULL, err) != 0)
        return -1;
    if (pg->mode == DB_WRITER)
        return pg->guarded ? db_postgres_run(pg, DB_POSTGRES_SET_GUARDED, NULL, NULL, err) : 0;
    if (pg->mode == DB_MAINTENANCE)
        return db_postgres_run(pg, "SET default_transaction_read_only = on", NULL, NULL, err);
    return db_postgres_run(pg, DB_POSTGRES_SET_READER, NULL, NULL, err);
}

struct settings {
    char fsync[8], full_page_writes[8], encoding[32];
    bool citus; /* the extension is installed in this database */
};

static bool read_settings(void *ctx, const struct db_row *row)
{
    const struct str fsync = db_get_text(row, 0), full_page_writes = db_get_text(row, 1);
    const struct str encoding = db_get_text(row, 2);
    struct settings *s = ctx;

    (void)snprintf(s->fsync, sizeof(s->fsync), "%.*s", STR_ARG(fsync));
    (void)snprintf(s->full_page_writes, sizeof(s->full_page_writes), "%.*s",
                   STR_ARG(full_page_writes));
    (void)snprintf(s->encoding, sizeof(s->encoding), "%.*s", STR_ARG(encoding));
    s->citus = db_get_int(row, 3) != 0;
    return false;
}

static bool read_distributed(void *ctx, const struct db_row *row)
{
    struct postgres *pg = ctx;

    pg->base.distributed = db_get_int(row, 0) != 0;
    pg->group = db_get_int(row, 1);
    return false;
}

/* Installing Citus changes nothing. `muster cluster enable` does; it is complete once the last
 * table of the manifest is distributed. */
static int find_distribution(struct postgres *pg, struct error *err)
{
    const bool before = pg->base.distributed;

    if (db_postgres_run(pg,
                        "SELECT (SELECT COUNT(*) FROM pg_catalog.pg_dist_partition"
                        " WHERE logicalrelid = to_regclass('webhooks') AND partmethod = 'h'),"
                        " groupid FROM pg_catalog.pg_dist_local_group",
                        read_distributed, pg, err) != 0)
        return -1;
    pg->base.worker = pg->group != 0;
    if (pg->base.distributed && db_postgres_run(pg, DB_POSTGRES_SET_CITUS, NULL, NULL, err) != 0)
        return -1;
    if (pg->base.distributed != before) /* statements may have another text now */
        db_postgres_forget_statements(pg);
    return 0;
}

static int check_server(struct postgres *pg, struct error *err)
{
    struct settings s = { 0 };

    if (db_postgres_run(pg,
                        "SELECT current_setting('fsync'), current_setting('full_page_writes'),"
                        " current_setting('server_encoding'),"
                        " CAST(to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS INTEGER)",
                        read_settings, &s, err) != 0)
        return -1;
    if (strcmp(s.fsync, "on") != 0)
        return err_set(err, ERR_SCHEMA,
                       "this PostgreSQL runs with fsync=off and would lose what it has confirmed "
                       "in a power cut: set fsync=on");
    if (strcmp(s.full_page_writes, "on") != 0)
        return err_set(err, ERR_SCHEMA,
                       "this PostgreSQL runs with full_page_writes=off and could be corrupted by "
                       "a power cut: set full_page_writes=on");
    if (strcmp(s.encoding, "UTF8") != 0)
        return err_set(
            err, ERR_SCHEMA,
            "the PostgreSQL database has the encoding %s: create it with ENCODING 'UTF8'",
            s.encoding);
    pg->base.citus = s.citus;
    return s.citus ? find_distribution(pg, err) : 0;
}

/* The slot of db_number(): one of 256 that no other connection to this server holds, and on
 * Citus the server's number modulo 16. The lock ends with the connection's session: if a new one
 * has it already, a pooler gives one session to several connections. */
static int take_slot(struct postgres *pg, struct error *err)
{
    enum { SHARED = -2 };
    int64_t slot = -1;

    if (pg->mode != DB_WRITER)
        return 0;
    if (db_postgres_run(pg,
                        "SELECT CASE WHEN EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory'"
                        " AND classid = 721198025 AND objsubid = 2 AND pid = pg_backend_pid())"
                        " THEN -2 ELSE (SELECT n FROM generate_series(0, 255) n"
                        " WHERE pg_try_advisory_lock(721198025, n) LIMIT 1) END",
                        db_read_int, &slot, err) != 0)
        return -1;
    if (slot == SHARED)
        return db_postgres_fail_shared(pg, err);
    if (slot < 0)
        return err_set(err, ERR_UNAVAILABLE, "256 connections write to this database already");
    pg->base.number_slot = (pg->base.distributed ? pg->group % 16 * 256 : 0) + slot;
    return 0;
}

/* At most once a minute, since every attempt to connect fails in this way. */
static void log_refusal(const char *text)
{
    static _Atomic int64_t from_us;
    const int64_t now_us = clock_raw_us();
    int64_t from = atomic_load(&from_us);

    if (now_us >= from &&
        atomic_compare_exchange_strong(&from_us, &from, now_us + 60 * (int64_t)USEC_PER_SEC))
        log_write(LOG_ERROR, "database", "%s", text);
}

int db_postgres_check_timeline(struct postgres *pg, struct error *err)
{
    static const char *const text =
        "connected to a former primary, which a standby has replaced: stop that server; if it was "
        "restored on purpose, restart this node";

    if (pg->mode == DB_MAINTENANCE ||
        servers_check_timeline(pg->base.servers, pg->group, pg->timeline))
        return 0;
    db_postgres_drop(pg);
    log_refusal(text);
    return err_set(err, ERR_UNAVAILABLE, "%s", text);
}

/* Reads the timeline from the name of the current WAL file, since pg_control_checkpoint() shows a
 * new one only after the next checkpoint. A provider may have revoked the right to read it. */
static int learn_timeline(struct postgres *pg, struct error *err)
{
    struct error why = { 0 };

    pg->timeline = 0;
    if (db_postgres_run(pg,
                        "SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE CAST(CAST('x' ||"
                        " left(pg_walfile_name(pg_current_wal_lsn()), 8) AS BIT(32)) AS BIGINT)"
                        " END",
                        db_read_int, &pg->timeline, &why) == 0)
        return db_postgres_check_timeline(pg, err);
    if (pg->conn == NULL || why.code != ERR_INTERNAL) /* such as one that is too busy */
        return err_set(err, why.code, "%s", why.text);
    log_write(LOG_WARNING, "database", "cannot read the timeline of the server: %s", why.text);
    return 0;
}

/* libpq tries the hosts of the URL and the addresses of each one after the other, with a timeout
 * for each: short, so that an unreachable one costs little. */
static int dial(struct postgres *pg, struct error *err)
{
    const char *const set = getenv("PGCONNECT_TIMEOUT");
    const char *const connect_s = set != NULL && set[0] != '\0' ? NULL : "2";
    /* Of several hosts, the primary: a standby may lag, and a key that was revoked there would
     * still be good. Backups and checks take any. */
    const char *const server = pg->mode == DB_MAINTENANCE ? "any" : "read-write";
    /* The URL may override the keywords before dbname, but not those after it. */
    const char *const keys[] = { "fallback_application_name",
                                 "connect_timeout",
                                 "tcp_user_timeout",
                                 "keepalives_idle",
                                 "keepalives_interval",
                                 "dbname",
                                 "target_session_attrs",
                                 "client_encoding",
                                 "host",
                                 "port",
                                 NULL };
    const char *const values[] = { "muster", connect_s, "20000",  "10",     "5", pg->url,
                                   server,   "UTF8",    pg->host, pg->port, NULL };

    pg->conn = PQconnectdbParams(keys, values, 1);
    if (pg->conn == NULL)
        return err_set(err, ERR_UNAVAILABLE, "out of memory for a connection");
    return PQstatus(pg->conn) == CONNECTION_OK ? 0 : db_postgres_fail(pg, NULL, err);
}

int db_postgres_connect(struct postgres *pg, struct error *err)
{
    db_postgres_drop(pg);
    if (dial(pg, err) != 0)
        return -1;
    (void)PQsetNoticeReceiver(pg->conn, on_notice, pg);
    (void)PQsetnonblocking(pg->conn, 1);
    if (pg->session++ > 0)
        servers_note_session(pg->base.servers);
    if (set_up(pg, err) == 0 && check_server(pg, err) == 0 && take_slot(pg, err) == 0 &&
        learn_timeline(pg, err) == 0)
        return 0;
    db_postgres_drop(pg);
    return -1;
}

struct coordinator {
    char host[256], port[8];
};

static bool read_coordinator(void *ctx, const struct db_row *row)
{
    const struct str host = db_get_text(row, 0), port = db_get_text(row, 1);
    struct coordinator *c = ctx;

    (void)snprintf(c->host, sizeof(c->host), "%.*s", STR_ARG(host));
    (void)snprintf(c->port, sizeof(c->port), "%.*s", STR_ARG(port));
    return false;
}

static int open_coordinator(struct postgres *pg, enum db_mode mode, struct db **ret,
                            struct error *err)
{
    struct coordinator c = { 0 };
    struct db *opened;

    if (db_postgres_run(pg,
                        "SELECT nodename, CAST(nodeport AS TEXT) FROM pg_catalog.pg_dist_node"
                        " WHERE groupid = 0 AND noderole = 'primary'",
                        read_coordinator, &c, err) != 0)
        return -1;
    if (c.host[0] == '\0')
        return err_set(err, ERR_UNAVAILABLE, "this worker does not know its coordinator");
    if (db_postgres_open_at(&(struct address){ pg->url, c.host, c.port }, mode, &opened, err) != 0)
        return -1;
    /* The address is one between servers: from here, "localhost" would be another. */
    if (opened->distributed && !opened->worker) {
        *ret = opened;
        return 0;
    }
    db_close(opened);
    return err_set(err, ERR_UNAVAILABLE, "%s:%s is not the coordinator from here", c.host, c.port);
}

int db_open_coordinator(struct db *db, enum db_mode mode, struct db **ret, struct error *err)
{
    if (!db->worker)
        return err_set(err, ERR_INTERNAL, "this server is no worker of Citus");
    db_begin_use(db);
    return db_end_use(db, open_coordinator(db->server, mode, ret, err));
}
