/* reload.c - the log's file and the TLS certificate, as the settings name them. */
#include "app/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/log.h"
#include "base/metrics.h"
#include "http/tls.h"

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

int logging_start(const struct settings *settings, struct error *err)
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

void logging_reopen(const struct settings *settings)
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

int certificate_read(const struct settings *settings, struct http_tls **ret, struct error *err)
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

void certificate_reload(struct http_tls *tls)
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
