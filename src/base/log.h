/* log.h - one structured line per event, on standard error.
 *
 *   2026-01-02T03:04:05.000006Z info access method=GET path=/api/v1/health status=200
 *
 * Values are quoted and escaped when they hold anything but plain characters,
 * so that nothing a client sends can forge a line. In JSON, each line is one object, in ASCII:
 *
 *   {"time":"2026-01-02T03:04:05.000006Z","level":"info","event":"access","method":"GET",…}
 *
 * No secret is ever logged: no body, no Authorization, no query value.
 *
 * Thread-safe: a line is written whole.
 */
#pragma once
#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_OFF };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_line {
    struct buf text;
    enum log_level level;
    enum log_format format;
    bool cut; /* of JSON: a field did not fit */
};

/* Lines below `level` are dropped. */
void log_set_level(enum log_level level);
bool log_wanted(enum log_level level);

/* For lines that begin after it. */
void log_set_format(enum log_format format);

/* A line with only an event and a sentence. */
void log_write(enum log_level level, const char *event, const char *fmt, ...) PRINTF(3, 4);

/* Or field by field: begin, any number of fields, end. */
void log_begin(struct log_line *line, enum log_level level, const char *event);
void log_str(struct log_line *line, const char *name, struct str value);
void log_int(struct log_line *line, const char *name, int64_t value);
void log_end(struct log_line *line);
