/* dial.c - a connection to one of the URL's hosts, with a limit for each and one for all of them.
 *
 * libpq's own limit is for each host, in seconds and at least two of them. A
 * caller may have less time left (db_set_patience()), so the connection is made
 * step by step here. A name may have several addresses: libpq is given one host
 * for each, so that those that are left can be told apart from one that is
 * silent. libpq looks up no names: that would have no limit at all (names.h).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/postgres/names.h"
#include "db/postgres/postgres.h"

enum {
    PLACES_MAX = 32, /* with more, the URL is left to libpq as it is */
    HOST_LEN = 256,  /* bytes of a name, or of the directory of a socket */
    ADDRESS_LEN = NAME_ADDRESS_LEN,
    PORT_LEN = 8,         /* bytes */
    LIST_BYTES = 1 << 14, /* of hosts, addresses or ports */
    HOST_LEAST_S = 2,     /* as with libpq: less is too little for a busy machine */
    LISTS = 3,            /* which stand side by side */
    HOST_MAX_S = 1 << 20, /* so that microseconds fit */
    NAMES_S = 5,          /* for the names of all hosts, if the caller has no limit */
    FIRST_NAMES_S = 30    /* for a start or a command, which does not ask again */
};

#define PORT_DEFAULT "5432" /* what libpq takes for an empty one */

enum list { LIST_HOST, LIST_ADDRESS, LIST_PORT };

static const char *const list_names[LISTS] = { "host", "hostaddr", "port" };

/* Where a server may be; an empty host is that of the address or, without one, the usual socket. */
struct place {
    char host[HOST_LEN], address[ADDRESS_LEN], port[PORT_LEN];
};

/* What is still to be tried, in this order; empty: as the URL says. */
struct dial {
    struct place places[PLACES_MAX];
    size_t n;
    bool given[LISTS];                /* the URL or the environment has such a list */
    bool shuffled;                    /* libpq tries them in an order of its own */
    int64_t host_max_us;              /* 0: no limit */
    int64_t named_us;                 /* raw clock: until when names are waited for */
    char unknown[HOST_LEN], why[128]; /* a name without addresses; empty: none was met */
};

/* The value of one of the connection's options, wherever it was set; empty: none was. */
static const char *option_of(const PQconninfoOption *options, const char *name)
{
    for (; options != NULL && options->keyword != NULL; options++)
        if (strcmp(options->keyword, name) == 0)
            return options->val == NULL ? "" : options->val;
    return "";
}

static size_t count(const char *list)
{
    size_t n = list[0] != '\0';

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

/* False when it does not fit. One that is there already is not tried twice. */
static bool add(struct dial *d, struct str host, struct str address, struct str port)
{
    struct place *p = &d->places[d->n];

    if (port.len == 0)
        port = STR_LIT(PORT_DEFAULT);
    for (size_t i = 0; i < d->n; i++)
        if (str_eq_c(host, d->places[i].host) && str_eq_c(address, d->places[i].address) &&
            str_eq_c(port, d->places[i].port))
            return true;
    if (d->n == PLACES_MAX || host.len >= HOST_LEN || address.len >= ADDRESS_LEN ||
        port.len >= PORT_LEN)
        return false;
    (void)snprintf(p->host, HOST_LEN, "%.*s", STR_ARG(host));
    (void)snprintf(p->address, ADDRESS_LEN, "%.*s", STR_ARG(address));
    (void)snprintf(p->port, PORT_LEN, "%.*s", STR_ARG(port));
    d->n++;
    return true;
}

/* A place for each address of the name; without any, others are tried. */
static bool add_name(struct dial *d, struct str host, struct str port)
{
    struct name_addresses found;
    char name[HOST_LEN];
    const char *why;
    bool fits = true;

    if (host.len >= HOST_LEN)
        return false;
    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(host));
    why = name_look_up(name, d->named_us, &found);
    if (why != NULL) {
        (void)snprintf(d->unknown, sizeof(d->unknown), "%s", name);
        (void)snprintf(d->why, sizeof(d->why), "%s", why);
        return true;
    }
    for (size_t i = 0; i < found.n && fits; i++)
        fits = add(d, host, str_of(found.list[i]), port);
    return fits;
}

static bool is_name(struct str host)
{
    return host.len > 0 && host.data[0] != '/' && host.data[0] != '@'; /* of sockets */
}

/* Adds no places for lists that do not match, which libpq will refuse, or that do not fit. */
static void add_places(struct dial *d, const char *const lists[LISTS])
{
    size_t counts[LISTS], n;
    struct str rest[LISTS];
    bool fits = true;

    for (size_t i = 0; i < LISTS; i++) {
        counts[i] = count(lists[i]);
        rest[i] = str_of(lists[i]);
    }
    n = counts[LIST_ADDRESS] > 0 ? counts[LIST_ADDRESS] : counts[LIST_HOST];
    if (n == 0)
        n = 1;
    if ((counts[LIST_HOST] > 0 && counts[LIST_HOST] != n) ||
        (counts[LIST_PORT] > 1 && counts[LIST_PORT] != n))
        return;
    for (; n > 0 && fits; n--) {
        struct str item[LISTS];

        for (size_t i = 0; i < LISTS; i++) /* one port is for all */
            item[i] = counts[i] > 1 ? str_split(&rest[i], ',') : rest[i];
        fits = item[LIST_ADDRESS].len == 0 && is_name(item[LIST_HOST])
                   ? add_name(d, item[LIST_HOST], item[LIST_PORT])
                   : add(d, item[LIST_HOST], item[LIST_ADDRESS], item[LIST_PORT]);
    }
    if (!fits) {
        d->n = 0;
        d->unknown[0] = '\0';
    }
}

/* The places' hosts, addresses or ports, ended by NUL. */
static void join(const struct dial *d, enum list list, struct buf *ret)
{
    /* libpq takes an empty value for one that was not given, and the URL's instead. */
    const bool twice = d->n == 1 && ((d->places[0].host[0] == '\0' && d->given[LIST_HOST]) ||
                                     (d->places[0].address[0] == '\0' && d->given[LIST_ADDRESS]));

    for (size_t i = 0; i < d->n + twice; i++) {
        const struct place *p = &d->places[i % d->n];

        if (i > 0)
            buf_add_char(ret, ',');
        buf_add_c(ret, list == LIST_HOST ? p->host : list == LIST_ADDRESS ? p->address : p->port);
    }
    buf_add_char(ret, '\0');
}

/* As db_postgres_connect() wants the connection, to a server of that kind. */
static PGconn *start(const struct postgres *pg, const struct dial *d, const char *server)
{
    const char *const set = getenv("PGCONNECT_TIMEOUT");
    /* Short, so that a host that is away costs little before the next one is tried. */
    const char *const patience = set != NULL && set[0] != '\0' ? NULL : "2";
    BUF_SCOPED(hosts, LIST_BYTES);
    BUF_SCOPED(addresses, LIST_BYTES);
    BUF_SCOPED(ports, LIST_BYTES);
    /* What stands before dbname the URL may override; what stands after it, not. */
    const char *const keys[] = { "fallback_application_name", "connect_timeout",
                                 "tcp_user_timeout",          "keepalives_idle",
                                 "keepalives_interval",       "dbname",
                                 "target_session_attrs",      "client_encoding",
                                 list_names[LIST_HOST],       list_names[LIST_ADDRESS],
                                 list_names[LIST_PORT],       NULL };

    join(d, LIST_HOST, &hosts);
    join(d, LIST_ADDRESS, &addresses);
    join(d, LIST_PORT, &ports);
    return PQconnectStartParams(keys,
                                (const char *const[]){ "muster", patience, "20000", "10", "5",
                                                       pg->url, server, "UTF8", hosts.data,
                                                       addresses.data, ports.data, NULL },
                                1);
}

/* With a patience, half of it is for the connection. */
static int64_t names_until(const struct postgres *pg)
{
    const int64_t now_us = clock_raw_us(), seconds = pg->session == 0 ? FIRST_NAMES_S : NAMES_S;

    return pg->until_us == 0 ? now_us + seconds * USEC_PER_SEC
                             : now_us + (pg->until_us - now_us) / 2;
}

/* What the URL, the environment and a service file say together. */
static void read_options(const struct postgres *pg, struct dial *d)
{
    /* No kind of server, so that libpq reads the options and connects to none. */
    PGconn *conn = start(pg, d, "unknown");
    PQconninfoOption *options = PQconninfo(conn); /* NULL is fine, here and below */
    const char *lists[LISTS];
    const long seconds = strtol(option_of(options, "connect_timeout"), NULL, 10);

    if (seconds > 0 && seconds < HOST_MAX_S)
        d->host_max_us = (seconds < HOST_LEAST_S ? HOST_LEAST_S : seconds) * (int64_t)USEC_PER_SEC;
    d->shuffled = strcmp(option_of(options, "load_balance_hosts"), "random") == 0;
    for (size_t i = 0; i < LISTS; i++) {
        lists[i] = option_of(options, list_names[i]);
        d->given[i] = lists[i][0] != '\0';
    }
    d->named_us = names_until(pg);
    if (pg->host != NULL)
        add_places(d, (const char *const[LISTS]){ pg->host, "", pg->port });
    else
        add_places(d, lists);
    PQconninfoFree(options);
    PQfinish(conn);
}

static const char *port_of(const PGconn *conn)
{
    const char *port = PQport(conn);

    return port == NULL || port[0] == '\0' ? PORT_DEFAULT : port;
}

/* Which one the connection is at, or n. */
static size_t place_of(const struct dial *d, const PGconn *conn)
{
    size_t at = 0;

    for (; at < d->n; at++) {
        const struct place *p = &d->places[at];

        if ((p->host[0] == '\0' || strcmp(p->host, PQhost(conn)) == 0) &&
            (p->address[0] == '\0' || strcmp(p->address, PQhostaddr(conn)) == 0) &&
            strcmp(p->port, port_of(conn)) == 0)
            break;
    }
    return at;
}

/* How many before that one were refused. */
static size_t n_passed(const struct dial *d, size_t at)
{
    return d->shuffled ? 0 : at;
}

/* Leaves out the place that did not answer, and those that were refused; false when no other is
 * left. */
static bool leave_out(struct dial *d, const PGconn *conn)
{
    const size_t at = place_of(d, conn), from = at - n_passed(d, at);

    if (at == d->n)
        return false;
    memmove(&d->places[from], &d->places[at + 1], (d->n - at - 1) * sizeof(d->places[0]));
    d->n -= at + 1 - from;
    return d->n > 0;
}

static int ms_until(int64_t until_us)
{
    const int64_t left_us = until_us - clock_raw_us();

    return until_us == INT64_MAX ? -1 : left_us <= 0 ? 0 : (int)(left_us / USEC_PER_MSEC) + 1;
}

/* Until when an answer is waited for from the place that the connection has come to now. With a
 * patience, the other places have their share of it. */
static int64_t limit_of(const struct postgres *pg, const struct dial *d, const PGconn *conn)
{
    const size_t at = place_of(d, conn), left = at == d->n ? 1 : d->n - n_passed(d, at);
    const int64_t now_us = clock_raw_us();
    int64_t until_us = d->host_max_us > 0 ? now_us + d->host_max_us : INT64_MAX, share_us;

    if (pg->until_us == 0)
        return until_us;
    share_us = (pg->until_us - now_us) / (int64_t)left;
    return now_us + share_us < until_us ? now_us + share_us : until_us;
}

/* Goes on until the connection is made or refused, which its status tells. False: the time for a
 * place, or the caller's, has passed. */
static bool await(const struct postgres *pg, const struct dial *d, PGconn *conn)
{
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    const char *host = NULL;
    int64_t until_us = INT64_MAX;

    while (step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED) {
        struct pollfd fd = { .fd = PQsocket(conn),
                             .events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT };
        int n;

        if (PQhost(conn) != host) /* libpq goes to the next by itself */
            until_us = limit_of(pg, d, conn);
        host = PQhost(conn);
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
    /* Of several hosts, the primary: a standby may lag, and a key that was revoked there would
     * still be good. Backups and checks take any. */
    const char *const server = pg->mode == DB_MAINTENANCE ? "any" : "read-write";
    struct dial d = { 0 };
    bool answers;

    read_options(pg, &d);
    if (d.n == 0 && d.unknown[0] != '\0')
        return err_set(err, ERR_UNAVAILABLE,
                       "PostgreSQL: could not translate host name \"%s\" to address: %s", d.unknown,
                       d.why);
    do {
        PQfinish(pg->conn); /* NULL is fine */
        pg->conn = start(pg, &d, server);
        if (pg->conn == NULL)
            return err_set(err, ERR_UNAVAILABLE, "out of memory for a connection");
        answers = PQstatus(pg->conn) == CONNECTION_BAD || await(pg, &d, pg->conn);
    } while (!answers && (pg->until_us == 0 || clock_raw_us() < pg->until_us) &&
             leave_out(&d, pg->conn));
    if (answers)
        return PQstatus(pg->conn) == CONNECTION_OK ? 0 : db_postgres_fail(pg, NULL, err);
    err_set(err, ERR_UNAVAILABLE,
            "PostgreSQL: connection to server at \"%s\", port %s failed: timeout expired",
            PQhost(pg->conn), port_of(pg->conn));
    db_postgres_drop(pg);
    return -1;
}
