/* test_postgres_dial.c - connecting to hosts that do not answer. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "suite.h"
#include "unit/patience.h"

enum {
    TRIES = 5,     /* a busy machine is late now and then: the best of them counts */
    PATH_LEN = 128 /* bytes */
};

static const struct db_query backend = { .sql = "SELECT pg_backend_pid()" };

/* As a server that was stopped: it takes connections and says nothing. */
static int listen_silently_at(const char *address, unsigned port, unsigned *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = inet_addr(address),
                              .sin_port = htons((uint16_t)port) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof(at);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 64) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static int listen_silently(unsigned *ret_port)
{
    return listen_silently_at("127.0.0.1", 0, ret_port);
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

    (void)snprintf(url, sizeof(url),
                   "postgresql://muster@127.0.0.1:1,127.0.0.1:%u,localhost:1,%s?connect_timeout=10",
                   port, own);
    db = suite_open(url, DB_WRITER);
    CHECK(suite_int(db, &backend) > 0);
    db_close(db);
    (void)close(fd);
}

/* Connects by `url` to a server that answers, once in a few times: a busy machine may be late. */
static bool reaches(const char *url, int64_t patience_us)
{
    struct db *db = suite_open(url, DB_SPARE);
    struct error err = { 0 };
    bool reached = false;

    for (int try = 0; try < TRIES - 1 && !reached; try++) { /* with twice the patience each time */
        db_set_patience(db, patience_us == 0 ? 0 : clock_raw_us() + (patience_us << try));
        reached = db_ping(db, &err) == 0;
    }
    if (!reached)
        print_message("%s\n", err.text);
    db_close(db);
    return reached;
}

TEST(a_host_s_own_limit_leaves_time_for_the_next_one)
{
    const char *own = strchr(suite_new_database(), '@') + 1;
    char url[256];
    unsigned port;
    const int fd = listen_silently(&port);

    (void)snprintf(url, sizeof(url), "postgresql://muster@127.0.0.1:%u,%s?connect_timeout=9", port,
                   own);
    CHECK(reaches(url, USEC_PER_SEC));
    (void)close(fd);
}

static bool read_directory(void *ctx, const struct db_row *row)
{
    const struct str directory = db_get_text(row, 0);

    (void)snprintf(ctx, PATH_LEN, "%.*s", STR_ARG(directory));
    return false;
}

/* In a new directory, the server's socket under the standard port's name. */
static void link_socket(const char *url, unsigned port, char *ret_directory)
{
    static const struct db_query where = {
        .sql = "SELECT current_setting('unix_socket_directories')"
    };
    struct db *db = suite_open(url, DB_WRITER);
    char from[PATH_LEN + 32], to[PATH_LEN + 32], directory[PATH_LEN] = "";
    struct error err = { 0 };

    CHECK(db_exec(db, &where, DB_NO_ARGS, read_directory, directory, &err) == 0);
    db_close(db);
    CHECK(mkdtemp(ret_directory) != NULL);
    (void)snprintf(to, sizeof(to), "%s/.s.PGSQL.%u", directory, port);
    (void)snprintf(from, sizeof(from), "%s/.s.PGSQL.5432", ret_directory);
    CHECK(symlink(to, from) == 0);
}

static void unlink_socket(const char *directory)
{
    char path[PATH_LEN + 32];

    (void)snprintf(path, sizeof(path), "%s/.s.PGSQL.5432", directory);
    CHECK(unlink(path) == 0 && rmdir(directory) == 0);
}

/* The hosts that are left have no port in the URL, or no address, where the silent one has. */
TEST(a_host_that_is_left_keeps_its_port_and_address)
{
    static const struct {
        const char *before; /* the silent one, which is before the one that answers */
        bool by_socket;     /* the latter is its directory; else localhost and its port */
        const char *options;
    } rows[] = {
        { "", true, "" },
        { "%2Fnone,", true, "" },
        { "", true, "&hostaddr=127.0.0.1," },
        { "", false, "&hostaddr=127.0.0.1," },
    };
    const char *own = suite_new_database();
    const char *name = strrchr(own, '/');
    const unsigned own_port = (unsigned)strtoul(strrchr(own, ':') + 1, NULL, 10);
    char directory[PATH_LEN] = "/tmp/muster-dial-XXXXXX", last[PATH_LEN], url[512];
    unsigned port;
    const int fd = listen_silently(&port);

    link_socket(own, own_port, directory);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].by_socket)
            (void)snprintf(last, sizeof(last), "%%2Ftmp%%2F%s", strrchr(directory, '/') + 1);
        else
            (void)snprintf(last, sizeof(last), "localhost:%u", own_port);
        (void)snprintf(url, sizeof(url),
                       "postgresql://muster@%s127.0.0.1:%u,%s%s?connect_timeout=2%s",
                       rows[i].before, port, last, name, rows[i].options);
        CHECK(reaches(url, 0));
    }
    unlink_socket(directory);
    (void)close(fd);
}

static sem_t name_server;  /* posted when it answers for late.test */
static atomic_uint n_late; /* how often it was asked for it */

/* What libpq and the driver ask: two.test has two addresses, and the address of late.test is told
 * late. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    const bool two = name != NULL && strcmp(name, "two.test") == 0;
    void *found = dlsym(RTLD_NEXT, "getaddrinfo");
    int r;

    memcpy((void *)&real, (void *)&found, sizeof(real));
    if (name != NULL && strcmp(name, "late.test") == 0 &&
        !(hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)) {
        n_late++;
        CHECK(wait_for(&name_server));
        name = "127.0.0.1";
    }
    r = real(two ? "127.0.0.2" : name, service, hints, ret);
    return r != 0 || !two ? r : real("127.0.0.1", service, hints, &(*ret)->ai_next);
}

TEST(each_address_of_a_host_is_tried)
{
    const char *own = suite_new_database();
    const unsigned own_port = (unsigned)strtoul(strrchr(own, ':') + 1, NULL, 10);
    unsigned port;
    const int fd = listen_silently_at("127.0.0.2", own_port, &port);
    char url[256];

    (void)snprintf(url, sizeof(url), "postgresql://muster@two.test:%u%s?connect_timeout=2", port,
                   strrchr(own, '/'));
    CHECK(reaches(url, 0));
    (void)snprintf(url, sizeof(url), "postgresql://muster@two.test:%u%s?connect_timeout=9", port,
                   strrchr(own, '/'));
    CHECK(reaches(url, USEC_PER_SEC));
    (void)close(fd);
}

/* Other hosts are reached meanwhile; and what was not told in time is not asked for again and
 * again. */
TEST(a_name_server_that_is_silent_is_waited_for_as_long_as_the_caller_may_take)
{
    const char *own = suite_new_database();
    const unsigned own_port = (unsigned)strtoul(strrchr(own, ':') + 1, NULL, 10);
    char alone[256], first[512];
    int64_t us = INT64_MAX;

    CHECK(sem_init(&name_server, 0, 0) == 0);
    (void)snprintf(alone, sizeof(alone), "postgresql://muster@late.test:%u%s", own_port,
                   strrchr(own, '/'));
    (void)snprintf(first, sizeof(first), "postgresql://muster@late.test:%u,127.0.0.1:%u%s",
                   own_port, own_port, strrchr(own, '/'));
    for (int try = 0; try < TRIES && us > 1500000; try++)
        us = refused_after(alone, 400000);
    CHECK(us <= 1500000);
    CHECK(reaches(first, USEC_PER_SEC));
    CHECK_INT(n_late, 1);
    CHECK(sem_post(&name_server) == 0);
    CHECK(reaches(alone, 0)); /* by the answer to the first question */
    CHECK_INT(n_late, 1);
}

TEST(a_name_that_there_is_not_is_said_to_be_unknown)
{
    struct db *db = suite_open("postgresql://muster@nowhere.invalid/x", DB_SPARE);
    struct error err = { 0 };

    CHECK(db_ping(db, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    CHECK(strstr(err.text, "could not translate host name \"nowhere.invalid\"") != NULL);
    db_close(db);
}
