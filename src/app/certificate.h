/* certificate.h - the server's TLS certificate, as the settings name it. Main thread only. */
#pragma once
#include "base/err.h"
#include "cli/settings.h"

struct http_tls;

/* *ret is NULL when the settings name none. The caller owns it. */
int certificate_read(const struct settings *settings, struct http_tls **ret,
                     struct error *err) MUST_CHECK;

/* Reads the files again, for connections that come after it, and logs the result. NULL is fine. */
void certificate_reload(struct http_tls *tls);
