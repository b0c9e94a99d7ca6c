/* metrics.h - numbers about this process that a monitoring system reads.
 *
 * Counters and histograms are the process's own, one const table each, and may
 * be added to from anywhere. Each thread adds to cells of its own, without a lock and without
 * sharing a cache line; printing adds the cells up.
 *
 * Thread-safe.
 */
#pragma once
#include "base/buf.h"

/* clang-format off */
#define METRIC_MAP(X) \
    X(METRIC_COMMITS,           "muster_commits_total", "result=\"ok\"", "Write transactions") \
    X(METRIC_COMMITS_FAILED,    "muster_commits_total", "result=\"failed\"", "") \
    X(METRIC_COMMITS_RETRIED,   "muster_commits_retried_total", "", "Write transactions repeated after a deadlock (PostgreSQL)") \
    X(METRIC_BUSY_WRITER,       "muster_refused_total", "queue=\"writer\"", "Requests refused because a queue was full") \
    X(METRIC_BUSY_READERS,      "muster_refused_total", "queue=\"readers\"", "") \
    X(METRIC_TLS_HANDSHAKES,        "muster_tls_handshakes_total", "result=\"ok\"", "TLS handshakes by result") \
    X(METRIC_TLS_HANDSHAKES_FAILED, "muster_tls_handshakes_total", "result=\"failed\"", "") \
    X(METRIC_BODIES_EVICTED,    "muster_bodies_evicted_total", "", "Slow request bodies refused because others needed their room") \
    X(METRIC_READS_HERE,        "muster_reads_here_total", "result=\"done\"", "Short reads started inline, without a reader thread (SQLite)") \
    X(METRIC_READS_PASSED_ON,   "muster_reads_here_total", "result=\"passed_on\"", "") \
    X(METRIC_DAMAGED_ROWS,      "muster_damaged_rows_total", "", "Stored rows read that did not match their checksum")

#define HISTOGRAM_MAP(X)                                                                                                               \
    X(HISTOGRAM_INGEST,  "muster_request_seconds", "class=\"ingest\"", HISTOGRAM_US,  "Request duration by route class")                \
    X(HISTOGRAM_PULL,    "muster_request_seconds", "class=\"pull\"",   HISTOGRAM_US,  "")                                               \
    X(HISTOGRAM_READ,    "muster_request_seconds", "class=\"read\"",   HISTOGRAM_US,  "")                                               \
    X(HISTOGRAM_ADMIN,   "muster_request_seconds", "class=\"admin\"",  HISTOGRAM_US,  "")                                               \
    X(HISTOGRAM_OTHER,   "muster_request_seconds", "class=\"other\"",  HISTOGRAM_US,  "")                                               \
    X(HISTOGRAM_COMMIT,  "muster_commit_seconds",  "",                 HISTOGRAM_US,  "Write transaction duration, including sync")     \
    X(HISTOGRAM_GROUP,   "muster_commit_events",   "",                 HISTOGRAM_N,   "Events per write transaction")
/* clang-format on */

/* clang-format off */
#define GAUGE_MAP(X)                                                                                                                   \
    X(GAUGE_CONNECTIONS, "muster_connections", "Open connections")                                                                     \
    X(GAUGE_STREAMS,     "muster_streams",     "Open streamed responses: exports and live updates")                                    \
    X(GAUGE_TLS_EXPIRES, "muster_tls_certificate_expires_seconds", "When the TLS certificate in use expires, in seconds since 1970; 0: no TLS")
/* clang-format on */

#define METRIC_ENUM(id, ...) id,
enum metric { METRIC_MAP(METRIC_ENUM) METRICS_OWN };
enum metric_gauge { GAUGE_MAP(METRIC_ENUM) GAUGES_N };
enum metric_histogram { HISTOGRAM_MAP(METRIC_ENUM) HISTOGRAMS_N };
#undef METRIC_ENUM

/* A counter: the help stands at the first of those with its name. */
struct metric_row {
    const char *name, *labels, *help;
};

/* The counters of the features, which have the numbers from METRICS_OWN on. Before the first print.
 */
enum { METRICS_MAX = 128 };
void metric_register(const struct metric_row *rows, size_t n);

/* Extra cells for counters whose labels are known only at run time. */
enum { METRIC_EXTRA_MAX = 4096 };

void metric_add(unsigned metric, uint64_t n);

/* Adds to a gauge; `by` may be negative. */
void metric_move(enum metric_gauge gauge, int64_t by);

/* A value in microseconds, or a plain number, as the table says. */
void metric_observe(enum metric_histogram histogram, uint64_t value);

void metric_extra_add(size_t cell, uint64_t n);
uint64_t metric_extra_sum(size_t cell);
uint64_t metric_sum(unsigned metric);

/* Prints the tables in the Prometheus text format, version 0.0.4. */
void metric_print(struct buf *out);

/* Prints the HELP and TYPE lines of a metric family whose samples the caller prints: a name without
 * labels, a type ("gauge", "counter"). */
void metric_print_head(struct buf *out, const char *name, const char *type, const char *help);
