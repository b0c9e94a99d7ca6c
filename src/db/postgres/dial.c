/* dial.c - a connection to one of the URL's hosts, with a limit for each and one for all of them.
 *
 * libpq's own limit is for each host, in seconds and at least two of them. A
 * caller may have less time left (db_set_patience()), so the connection is made
 * step by step here. Only the names of hosts are waited for without a limit.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/postgres/postgres.h"

enum {
    LIST_MAX = 2048,     /* characters of hosts, addresses or ports */
    HOST_LEAST_S = 2,    /* as with libpq: less is too little for a busy machine */
    LISTS = 3,           /* which stand side by side */
    HOST_MAX_S = 1 << 20 /* so that microseconds fit */
};

static const char *const list_names[LISTS] = { "host", "hostaddr", "port" };

/* What is still to be tried: comma-separated lists, side by side; empty: as the URL says. */
struct dial {
    char lists[LISTS][LIST_MAX];
    int64_t host_max_us; /* 0: no limit */
};

/* The value of one of the connection's options, wherever it was set; empty: none was. */
static const char *option_of(const PQconninfoOption *options, const char *name)
{
    for (; options != NULL && options->keyword != NULL; options++)
        if (strcmp(options->keyword, name) == 0)
            return options->val == NULL ? "" : options->val;
    return "";
}

static void read_options(PGconn *conn, struct dial *d)
{
    PQconninfoOption *options = PQconninfo(conn);
    const long seconds = strtol(option_of(options, "connect_timeout"), NULL, 10);

    for (size_t i = 0; i < LISTS; i++)
        (void)snprintf(d->lists[i], LIST_MAX, "%s", option_of(options, list_names[i]));
    d->host_max_us = 0;
    if (seconds > 0 && seconds < HOST_MAX_S)
        d->host_max_us = (seconds < HOST_LEAST_S ? HOST_LEAST_S : seconds) * (int64_t)USEC_PER_SEC;
    PQconninfoFree(options); /* NULL is fine */
}

static size_t count(const char *list)
{
    size_t n = list[0] != '\0';

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

/* The item's place in the list, up to the next comma; a list of one is for all. */
static struct str item_of(const char *list, size_t i)
{
    struct str rest = str_of(list), item = str_split(&rest, ',');

    if (count(list) == 1)
        return item;
    for (; i > 0; i--)
        item = str_split(&rest, ',');
    return item;
}

/* Leaves the host out that did not answer; false when no other is left. */
static bool leave_out(struct dial *d, const char *host, const char *port)
{
    const char *const names = d->lists[d->lists[0][0] == '\0' ? 1 : 0];
    const size_t n = count(names);
    size_t at = 0;

    while (at < n && !(str_eq_c(item_of(names, at), host) &&
                       (d->lists[2][0] == '\0' || str_eq_c(item_of(d->lists[2], at), port))))
        at++;
    if (at == n || n == 1)
        return false;
    for (size_t i = 0; i < LISTS; i++) {
        struct str item;
        char *from;

        if (count(d->lists[i]) != n)
            continue;
        item = item_of(d->lists[i], at);
        from = d->lists[i] + (item.data - d->lists[i]);
        if (at + 1 < n)
            memmove(from, from + item.len + 1, strlen(from + item.len + 1) + 1);
        else
            from[-1] = '\0';
    }
    return true;
}

/* As db_postgres_connect() wants the connection. */
static PGconn *start(const struct postgres *pg, const struct dial *d)
{
    /* Of several hosts, the primary: a standby may lag, and a key that was revoked there would
     * still be good. Backups and checks take any. */
    const char *const server = pg->standby                  ? "standby"
                               : pg->mode == DB_MAINTENANCE ? "any"
                                                            : "read-write";
    const char *const set = getenv("PGCONNECT_TIMEOUT");
    /* Short, so that a host that is away costs little before the next one is tried. */
    const char *const patience = set != NULL && set[0] != '\0' ? NULL : "2";
    /* What stands before dbname the URL may override; what stands after it, not. */
    const char *const keys[] = { "fallback_application_name",
                                 "connect_timeout",
                                 "tcp_user_timeout",
                                 "keepalives_idle",
                                 "keepalives_interval",
                                 "dbname",
                                 "target_session_attrs",
                                 "client_encoding",
                                 list_names[0],
                                 list_names[1],
                                 list_names[2],
                                 NULL };
    const char *const values[] = { "muster",    patience,    "20000",     "10",
                                   "5",         pg->url,     server,      "UTF8",
                                   d->lists[0], d->lists[1], d->lists[2], NULL };

    return PQconnectStartParams(keys, values, 1);
}

static int ms_until(int64_t until_us)
{
    const int64_t left_us = until_us - clock_raw_us();

    return until_us == INT64_MAX ? -1 : left_us <= 0 ? 0 : (int)(left_us / USEC_PER_MSEC) + 1;
}

/* Goes on until the connection is made or refused, which its status tells. False: the time for a
 * host, or the caller's, has passed. */
static bool await(const struct postgres *pg, const struct dial *d, PGconn *conn)
{
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    const char *host = NULL;
    int64_t until_us = INT64_MAX;

    while (step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED) {
        struct pollfd fd = { .fd = PQsocket(conn),
                             .events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT };
        int n;

        if (PQhost(conn) != host && d->host_max_us > 0) /* libpq goes to the next by itself */
            until_us = clock_raw_us() + d->host_max_us;
        host = PQhost(conn);
        if (pg->until_us != 0 && pg->until_us < until_us)
            until_us = pg->until_us;
        n = poll(&fd, 1, ms_until(until_us));
        if (n == 0)
            return false;
        if (n > 0 || errno != EINTR)
            step = PQconnectPoll(conn);
    }
    return true;
}

int db_postgres_dial(struct postgres *pg, struct error *err)
{
    struct dial d = { 0 };
    bool answers, first = true;

    for (size_t i = 0; pg->host != NULL && i < LISTS; i += 2)
        (void)snprintf(d.lists[i], LIST_MAX, "%s", i == 0 ? pg->host : pg->port);
    do {
        PQfinish(pg->conn); /* NULL is fine */
        pg->conn = start(pg, &d);
        if (pg->conn == NULL)
            return err_set(err, ERR_UNAVAILABLE, "out of memory for a connection");
        if (first)
            read_options(pg->conn, &d);
        first = false;
        answers = PQstatus(pg->conn) == CONNECTION_BAD || await(pg, &d, pg->conn);
    } while (!answers && (pg->until_us == 0 || clock_raw_us() < pg->until_us) &&
             leave_out(&d, PQhost(pg->conn), PQport(pg->conn)));
    if (answers)
        return PQstatus(pg->conn) == CONNECTION_OK ? 0 : db_postgres_fail(pg, NULL, err);
    err_set(err, ERR_UNAVAILABLE,
            "PostgreSQL: connection to server at \"%s\", port %s failed: timeout expired",
            PQhost(pg->conn), PQport(pg->conn));
    db_postgres_drop(pg);
    return -1;
}
