/* certificate.c - reads the server's TLS certificate, and reads it again on a signal. */
#include "app/certificate.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/log.h"
#include "base/metrics.h"
#include "http/tls.h"

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
