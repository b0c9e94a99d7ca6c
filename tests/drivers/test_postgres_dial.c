/* test_postgres_dial.c - connecting to hosts that do not answer. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "suite.h"

enum { TRIES = 5 }; /* a busy machine is late now and then: the best of them counts */

static const struct db_query backend = { .sql = "SELECT pg_backend_pid()" };

/* As a server that was stopped: it takes connections and says nothing. */
static int listen_silently(unsigned *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof(at);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 64) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* Puts the port in. */
static void fill(const char *hosts, unsigned port, char *ret, size_t size)
{
    struct str rest = str_of(hosts);

    ret[0] = '\0';
    while (!str_is_null(rest)) {
        struct str host = str_split(&rest, ',');
        const bool silent = host.len > 4 && memcmp(host.data + host.len - 4, "PORT", 4) == 0;
        const size_t n = strlen(ret);

        (void)snprintf(ret + n, size - n, "%s%.*s", n == 0 ? "" : ",",
                       (int)(host.len - (silent ? 4 : 0)), host.data);
        if (silent)
            (void)snprintf(ret + strlen(ret), size - strlen(ret), "%u", port);
    }
}

/* How long a connection is waited for that never comes. */
static int64_t refused_after(const char *url, int64_t patience_us)
{
    struct db *db = suite_open(url, DB_SPARE);
    const int64_t began_us = clock_raw_us();
    struct error err = { 0 };
    int64_t us;

    db_set_patience(db, patience_us == 0 ? 0 : began_us + patience_us);
    CHECK(db_ping(db, &err) != 0);
    us = clock_raw_us() - began_us;
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    CHECK(strstr(err.text, "timeout expired") != NULL);
    db_close(db);
    return us;
}

TEST(a_connection_is_waited_for_as_long_as_the_caller_and_each_host_may_take)
{
    static const struct {
        const char *hosts; /* PORT: the silent one's */
        int timeout_s;
        int64_t patience_us, least_us, most_us;
    } rows[] = {
        { "127.0.0.1:PORT", 9, 300000, 300000, 1500000 },
        { "127.0.0.1:1,127.0.0.1:PORT", 9, 300000, 300000, 1500000 },
        { "127.0.0.1:PORT", 1, 0, 1990000, 3000000 }, /* at least two seconds */
        { "127.0.0.1:PORT,localhost:PORT", 2, 0, 3990000, 5500000 },
    };
    unsigned port;
    const int fd = listen_silently(&port);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t us = INT64_MAX;
        char hosts[128], url[256];

        fill(rows[i].hosts, port, hosts, sizeof(hosts));
        (void)snprintf(url, sizeof(url), "postgresql://muster@%s/x?connect_timeout=%d", hosts,
                       rows[i].timeout_s);
        for (int try = 0; try < TRIES && us > rows[i].most_us; try++) {
            us = refused_after(url, rows[i].patience_us);
            CHECK(us >= rows[i].least_us);
        }
        CHECK(us <= rows[i].most_us);
    }
    (void)close(fd);
}

/* Whatever stands before it: a host that says nothing, and one that is not there. */
TEST(a_host_that_answers_is_found_behind_others)
{
    const char *own = strchr(suite_new_database(), '@') + 1;
    struct db *db;
    char url[256];
    unsigned port;
    const int fd = listen_silently(&port);

    (void)snprintf(url, sizeof(url), "postgresql://muster@127.0.0.1:1,127.0.0.1:%u,localhost:1,%s",
                   port, own);
    db = suite_open(url, DB_WRITER);
    CHECK(suite_int(db, &backend) > 0);
    db_close(db);
    (void)close(fd);
}
