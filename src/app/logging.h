/* logging.h - level, format and file of the server's log, as the settings say. Main thread only. */
#pragma once
#include "base/err.h"
#include "cli/settings.h"

/* Sets level and format, and checks that the file can be written; lines go to standard error. */
int logging_start(const struct settings *settings, struct error *err) MUST_CHECK;

/* From here on lines, and all that is written to standard error, are added to the file, if the
 * settings name one. Also after it was renamed; if that fails, the old one stays in use. */
void logging_reopen(const struct settings *settings);
