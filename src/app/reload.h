/* reload.h - what SIGHUP reads again: the log's file and the TLS certificate. Main thread only. */
#pragma once
#include "base/err.h"
#include "cli/settings.h"

struct http_tls;

/* Sets level and format, and checks that the file can be written; lines go to standard error. */
int logging_start(const struct settings *settings, struct error *err) MUST_CHECK;

/* From here on lines, and all that is written to standard error, are added to the file, if the
 * settings name one. Also after it was renamed; if that fails, the old one stays in use. */
void logging_reopen(const struct settings *settings);

/* *ret is NULL when the settings name no certificate. The caller owns it. */
int certificate_read(const struct settings *settings, struct http_tls **ret,
                     struct error *err) MUST_CHECK;

/* Reads the files again, for connections that come after it, and logs the result. NULL is fine. */
void certificate_reload(struct http_tls *tls);
