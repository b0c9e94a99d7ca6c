/* serve.c - the server: start, wait for a signal, stop in order. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/assemble.h"
#include "app/confine.h"
#include "app/listen.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "cli/command.h"
#include "cli/files.h"
#include "engine/engine.h"
#include "features/access/sessions.h"
#include "features/status/metrics_routes.h"
#include "features/vault/keyring.h"
#include "http/server.h"
#include "http/tls.h"

enum {
    STOP_MS = 7000,
    STOP_MAX_S = 9,
    FATAL_STOP_MS = 1000,
    SPARE_FILES = 256,
    FILES_PER_LOOP = 16,
    METRICS_CONNECTIONS = 16,
    TOKEN_MIN = 16,
    RESERVE_BYTES = 64 << 20, /* to finish what was admitted when memory runs out */
};

struct server {
    const struct settings *settings;
    struct datadir datadir;
    struct assembly assembly;
    struct listen_address listens_at, metrics_at; /* the second is empty without metrics_listen */
    struct http_tls *tls;                         /* NULL: none */
    struct http_server *http, *metrics;           /* the second is NULL without metrics_listen */
    struct budgets metrics_budgets;
    pthread_t main_thread;
    atomic_bool fatal;
};

/* The index of a name in a list that ends in NULL, or -1. */
static int find_name(const char *const *names, const char *name)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* The file, or -1. */
static int open_file(const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

    if (fd < 0)
        return err_set(err, ERR_INVALID,
                       "log_file: cannot write '%s': %s; give a file in a directory that the "
                       "server's user may write",
                       path, strerror(errno));
    return fd;
}

/* Sets level and format, and checks that the file can be written; lines go to standard error. */
static int logging_start(const struct settings *settings, struct error *err)
{
    static const char *const levels[] = { "debug", "info", "warning", "error", "off", NULL };
    static const char *const formats[] = { "text", "json", NULL };
    int level = find_name(levels, settings->log_level);
    int format = find_name(formats, settings->log_format);
    int fd;

    if (level < 0)
        return err_set(err, ERR_INVALID,
                       "log_level: '%s' is not one of debug, info, warning, error, off",
                       settings->log_level);
    if (format < 0)
        return err_set(err, ERR_INVALID, "log_format: '%s' is not one of text, json",
                       settings->log_format);
    log_set_level((enum log_level)level);
    log_set_format((enum log_format)format);
    if (settings->log_file[0] == '\0')
        return 0;
    fd = open_file(settings->log_file, err);
    if (fd < 0)
        return -1;
    (void)close(fd);
    return 0;
}

/* From here on lines, and all that is written to standard error, are added to the file, if the
 * settings name one. Also after it was renamed; if that fails, the old one stays in use. */
static void logging_reopen(const struct settings *settings)
{
    struct error err = { 0 };
    int fd;

    if (settings->log_file[0] == '\0')
        return;
    fd = open_file(settings->log_file, &err);
    if (fd < 0) {
        log_write(LOG_ERROR, "log", "the log was not opened: %s", err.text);
        return;
    }
    (void)dup2(fd, STDERR_FILENO); /* a line is one write: it goes to the old file or to the new */
    (void)close(fd);
}

/* Shows in the metrics when it expires, and logs it. */
static void announce(struct http_tls *tls, const char *what)
{
    static int64_t shown_s;
    int64_t expires_s = http_tls_expires_s(tls);
    bool expired = expires_s * USEC_PER_SEC <= clock_wall_us();
    char when[DATETIME_TEXT_MAX];
    struct log_line line;

    metric_move(GAUGE_TLS_EXPIRES, expires_s - shown_s);
    shown_s = expires_s;
    log_begin(&line, expired ? LOG_WARNING : LOG_INFO, "tls");
    log_str(&line, "msg", str_of(expired ? "the certificate has expired" : what));
    log_str(&line, "expires", datetime_format(expires_s * USEC_PER_SEC, when));
    log_end(&line);
}

/* *ret is NULL when the settings name no certificate. The caller owns it. */
static int certificate_read(const struct settings *settings, struct http_tls **ret,
                            struct error *err)
{
    const char *cert = settings->tls_cert, *key = settings->tls_key;

    *ret = NULL;
    if (cert[0] == '\0' && key[0] == '\0')
        return 0;
    if (key[0] == '\0')
        return err_set(err, ERR_INVALID, "tls_cert: '%s' needs its private key: set tls_key", cert);
    if (cert[0] == '\0')
        return err_set(err, ERR_INVALID, "tls_key: '%s' needs its certificate: set tls_cert", key);
    if (http_tls_new(cert, key, ret, err) != 0)
        return -1;
    announce(*ret, "serving TLS");
    return 0;
}

/* Reads the files again, for connections that come after it, and logs the result. */
static void certificate_reload(struct http_tls *tls)
{
    struct error err = { 0 };

    if (tls == NULL)
        return;
    if (http_tls_reload(tls, &err) == 0)
        announce(tls, "certificate reloaded");
    else
        log_write(LOG_ERROR, "tls",
                  "the certificate was not reloaded, the old one stays in use: %s", err.text);
}

/* Writer thread: storage failed. Wakes the main thread, which ends the process. */
static void on_fatal(void *ctx, const struct error *err)
{
    struct server *s = ctx;

    log_write(LOG_ERROR, "storage", "storage failed, stopping: %s", err->text);
    atomic_store(&s->fatal, true);
    (void)pthread_kill(s->main_thread, SIGUSR1);
}

static unsigned count_loops(const struct settings *settings)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (settings->loops > 0)
        return (unsigned)settings->loops;
    return cores > 0 ? (unsigned)cores : 1;
}

/* Raises the limit of open files to what the connections need, as far as the system allows; with a
 * lower limit connections are refused earlier. */
static void raise_file_limit(int64_t connections, unsigned loops)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections + SPARE_FILES + (rlim_t)loops * FILES_PER_LOOP;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Without any user, a person who can read this output may create the first one. */
static void print_set_up_link(struct server *s, const struct listen_address *at)
{
    struct sessions *sessions = access_sessions(s->assembly.api.engine);
    const bool is_named = s->settings->public_url[0] != '\0';
    const struct str url = is_named ? str_of(s->settings->public_url) : s->assembly.api.own_url;
    char code[BASE64URL_LEN + 1];

    if (!sessions_has_no_user(sessions))
        return;
    sessions_set_up_code(sessions, code);
    (void)printf("muster: no user exists yet; create the first platform admin at "
                 "%.*s/#/setup?code=%s\n",
                 STR_ARG(url), code);
    if (!is_named && listen_is_all(at))
        (void)printf("muster: the link is for this machine; set public_url to the URL that people "
                     "open elsewhere\n");
}

/* Before the first request, which may ask for a link. */
static void serve_bound(void *ctx, unsigned port)
{
    struct server *s = ctx;

    s->listens_at.port = port;
    assembly_set_address(&s->assembly, &s->listens_at);
}

static void print_address(const char *what, const struct listen_address *at, unsigned port)
{
    const bool v6 = strchr(at->host, ':') != NULL;

    (void)printf("muster: %s on %s%s%s:%u\n", what, v6 ? "[" : "", at->host, v6 ? "]" : "", port);
}

static int listen_http(struct server *s, struct error *err)
{
    const struct settings *settings = s->settings;
    struct http_options options = { .loops = count_loops(settings),
                                    .large_apart = true,
                                    .limits = http_default_limits };
    struct http_app app;

    options.budgets = &s->assembly.budgets;
    options.tls = s->tls;
    options.exempt = &settings->trusted_proxies; /* they bring the connections of many clients */
    options.unix_path = settings->database[0] == '\0' ? s->datadir.socket : NULL;
    options.host = s->listens_at.host;
    options.port = s->listens_at.port;
    options.bound = serve_bound;
    options.bound_ctx = s;
    api_app(&s->assembly.api, &app);
    raise_file_limit(settings->max_connections, options.loops);
    if (http_server_new(&options, &app, &s->http, err) != 0)
        return -1;
    confine_warn_user(settings);
    logging_reopen(settings); /* before clients can know the address: each request has its line */
    print_set_up_link(s, &s->listens_at);
    print_address("listening", &s->listens_at, http_server_port(s->http));
    (void)fflush(stdout);
    return 0;
}

/* Is the master key in the data directory? With PostgreSQL nothing else is. */
static bool needs_key_file(const struct settings *settings)
{
    return settings->master_key_file[0] == '\0' && !keyring_has_variable();
}

static int listen_metrics(struct server *s, struct error *err)
{
    struct http_options options = { .loops = 1, .limits = http_default_limits };
    struct http_app app;

    if (s->metrics_at.host[0] == '\0')
        return 0;
    budgets_init(&s->metrics_budgets);
    s->metrics_budgets.service_level.max[BUDGET_CONNECTIONS] = METRICS_CONNECTIONS;
    options.budgets = &s->metrics_budgets;
    options.host = s->metrics_at.host;
    options.port = s->metrics_at.port;
    metrics_app(&s->assembly.api, &app);
    if (http_server_new(&options, &app, &s->metrics, err) != 0)
        return -1;
    print_address("metrics", &s->metrics_at, http_server_port(s->metrics));
    return 0;
}

/* Before the first start makes anything: one that fails here leaves nothing behind. */
static int try_listening(struct server *s, struct error *err)
{
    const struct settings *settings = s->settings;
    const char *token = settings->metrics_token;

    if (token[0] != '\0' && strlen(token) < TOKEN_MIN)
        return err_set(err, ERR_INVALID, "metrics_token: use at least %d characters", TOKEN_MIN);
    if (listen_read("listen", settings->listen, &s->listens_at, err) != 0)
        return -1;
    if (settings->metrics_listen[0] == '\0')
        return http_server_try(s->listens_at.host, s->listens_at.port, err);
    if (listen_read("metrics_listen", settings->metrics_listen, &s->metrics_at, err) != 0)
        return -1;
    /* Asked of the addresses: a trial ends before the next begins, so the system sees no conflict.
     */
    if (listen_collide(&s->listens_at, &s->metrics_at))
        return err_set(err, ERR_INVALID,
                       "metrics_listen: '%s' collides with listen, which is '%s': give another "
                       "port",
                       settings->metrics_listen, settings->listen);
    if (http_server_try(s->listens_at.host, s->listens_at.port, err) != 0)
        return -1;
    return http_server_try(s->metrics_at.host, s->metrics_at.port, err);
}

static int start(struct server *s, struct arena *arena, struct error *err)
{
    struct assembly_options options = {
        .settings = s->settings, .serves = true, .on_fatal = on_fatal, .ctx = s
    };
    const char *database = s->settings->database;

    datadir_init(&s->datadir, s->settings->data, arena);
    if (confine_check_user(s->settings, err) != 0 ||
        certificate_read(s->settings, &s->tls, err) != 0 || try_listening(s, err) != 0)
        return -1;
    if (needs_key_file(s->settings) && datadir_ensure(&s->datadir, true, err) != 0)
        return -1;
    if (database[0] == '\0') {
        if (datadir_ensure(&s->datadir, true, err) != 0 || datadir_lock(&s->datadir, err) != 0)
            return -1;
        database = s->datadir.database;
        /* SQLite's sort files contain stored data: keep them in the data directory */
        (void)setenv("SQLITE_TMPDIR", s->settings->data, 0);
    }
    options.database = database;
    if (assembly_check(&options, err) != 0)
        return -1;
    confine_server(s->settings);
    if (assemble(&options, &s->assembly, err) != 0)
        return -1;
    if (listen_metrics(s, err) != 0 || listen_http(s, err) != 0) {
        http_server_free(s->metrics);
        disassemble(&s->assembly);
        return -1;
    }
    return 0;
}

/* Threads started after this leave the signals to the main thread. */
static sigset_t block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1); /* from on_fatal() */
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return set;
}

/* The deadline for stopping has passed. Everything acknowledged is durable. */
static void end_now(int signal_number)
{
    (void)signal_number;
    _exit(EXIT_DONE);
}

static int stop(struct server *s)
{
    sigset_t again;
    unsigned cut;

    sigemptyset(&again);
    sigaddset(&again, SIGTERM);
    sigaddset(&again, SIGINT);
    (void)pthread_sigmask(SIG_UNBLOCK, &again, NULL); /* a second signal ends the process at once */
    if (atomic_load(&s->fatal)) {
        (void)http_server_stop(s->http, FATAL_STOP_MS);
        _exit(EXIT_FAILED); /* no cleanup: the database must not be used again */
    }
    (void)signal(SIGALRM, end_now);
    (void)alarm(STOP_MAX_S);
    log_write(LOG_INFO, "stop", "finishing requests in progress");
    engine_leave(s->assembly.api.engine);
    cut = http_server_stop(s->http, STOP_MS);
    http_server_free(s->metrics);
    disassemble(&s->assembly);
    http_server_free(s->http);
    http_tls_free(s->tls);
    datadir_done(&s->datadir);
    mem_keep_reserve(0); /* else a leak checker reads all of it */
    log_write(LOG_INFO, "stop", "done; connections closed early: %u", cut);
    return atomic_load(&s->fatal) ? EXIT_FAILED : EXIT_DONE;
}

int serve_run(struct invocation *in)
{
    struct server s = { .settings = &in->settings,
                        .main_thread = pthread_self(),
                        .datadir = { .lock = -1 } };
    sigset_t set = block_signals();
    struct error err = { 0 };
    int signal_number;

    atomic_init(&s.fatal, false);
    mem_return_large();
    mem_keep_reserve(RESERVE_BYTES);
    if (logging_start(&in->settings, &err) != 0 || start(&s, &in->arena, &err) != 0) {
        http_tls_free(s.tls);
        datadir_done(&s.datadir);
        return command_fail(&err);
    }
    while (sigwait(&set, &signal_number) != 0 || signal_number == SIGHUP) {
        logging_reopen(&in->settings);
        certificate_reload(s.tls);
    }
    return stop(&s);
}
