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
#define METRIC_MAP(X)                                                                                                                  \
    X(METRIC_EVENTS_ACCEPTED,   "muster_events_total", "verdict=\"accepted\"",  "Run events by result")                                 \
    X(METRIC_EVENTS_DUPLICATE,  "muster_events_total", "verdict=\"duplicate\"", "")                                                     \
    X(METRIC_EVENTS_DISABLED,   "muster_events_total", "verdict=\"agent_disabled\"", "")                                                \
    X(METRIC_EVENTS_CAP,        "muster_events_total", "verdict=\"agent_cap_reached\"", "")                                             \
    X(METRIC_REPORTS_BUSINESS,  "muster_reports_total", "channel=\"business\"", "Business and LLM reports stored")                      \
    X(METRIC_REPORTS_LLM,       "muster_reports_total", "channel=\"llm\"", "")                                                          \
    X(METRIC_OTLP_TRACES,       "muster_otlp_rejected_total", "signal=\"traces\"", "Spans, log records and data points in partialSuccess")    \
    X(METRIC_OTLP_LOGS,         "muster_otlp_rejected_total", "signal=\"logs\"", "")                                                   \
    X(METRIC_OTLP_METRICS,      "muster_otlp_rejected_total", "signal=\"metrics\"", "")                                                \
    X(METRIC_COMMITS,           "muster_commits_total", "result=\"ok\"", "Write transactions")                                          \
    X(METRIC_COMMITS_FAILED,    "muster_commits_total", "result=\"failed\"", "")                                                        \
    X(METRIC_COMMITS_RETRIED,   "muster_commits_retried_total", "", "Write transactions repeated after a deadlock (PostgreSQL)")        \
    X(METRIC_AGENT_LOOKUPS,     "muster_agent_lookups_total", "", "Agents looked up in the database for a report, because the writer did not remember them")             \
    X(METRIC_RUN_CACHE_HITS,    "muster_run_cache_total", "result=\"hit\"", "Run lookups for incoming events (SQLite)")                 \
    X(METRIC_RUN_CACHE_MISSES,  "muster_run_cache_total", "result=\"miss\"", "")                                                        \
    X(METRIC_ID_FILTER_STOPS,   "muster_id_filter_total", "result=\"absent\"", "Id index segments checked for an id (SQLite)")          \
    X(METRIC_ID_FILTER_PASSES,  "muster_id_filter_total", "result=\"read\"", "")                                                        \
    X(METRIC_BUSY_WRITER,       "muster_refused_total", "queue=\"writer\"", "Requests refused because a queue was full")                \
    X(METRIC_BUSY_READERS,      "muster_refused_total", "queue=\"readers\"", "")                                                        \
    X(METRIC_BUSY_EXPORTS,      "muster_refused_total", "queue=\"exports\"", "")                                                        \
    X(METRIC_QUOTA_REFUSED,     "muster_quota_refused_total", "", "Reports refused because the plan of their tenant has no room")     \
    X(METRIC_TLS_HANDSHAKES,        "muster_tls_handshakes_total", "result=\"ok\"", "TLS handshakes by result")                    \
    X(METRIC_TLS_HANDSHAKES_FAILED, "muster_tls_handshakes_total", "result=\"failed\"", "")                                           \
    X(METRIC_SIGN_INS,              "muster_sign_ins_total", "way=\"password\",result=\"ok\"", "Sign-ins by way and result")              \
    X(METRIC_SIGN_INS_REFUSED,      "muster_sign_ins_total", "way=\"password\",result=\"refused\"", "")                                  \
    X(METRIC_OIDC_SIGN_INS,         "muster_sign_ins_total", "way=\"oidc\",result=\"ok\"", "")                                           \
    X(METRIC_OIDC_REFUSED,          "muster_sign_ins_total", "way=\"oidc\",result=\"refused\"", "")                                      \
    X(METRIC_OIDC_FAILED,           "muster_sign_ins_total", "way=\"oidc\",result=\"failed\"", "")                                       \
    X(METRIC_OIDC_UNAVAILABLE,      "muster_oidc_errors_total", "reason=\"unavailable\"", "Requests to the identity provider that failed") \
    X(METRIC_OIDC_INVALID,          "muster_oidc_errors_total", "reason=\"invalid\"", "")                                                \
    X(METRIC_BODIES_EVICTED,    "muster_bodies_evicted_total", "", "Slow request bodies refused because others needed their room")    \
    X(METRIC_READS_HERE,        "muster_reads_here_total", "result=\"done\"", "Short reads started inline, without a reader thread (SQLite)")\
    X(METRIC_READS_PASSED_ON,   "muster_reads_here_total", "result=\"passed_on\"", "")                                                  \
    X(METRIC_DELETED_RUNS,      "muster_deleted_total", "class=\"runs\"", "Rows deleted by retention")                           \
    X(METRIC_DELETED_EVENTS,    "muster_deleted_total", "class=\"events\"", "")                                                          \
    X(METRIC_DELETED_BUSINESS,  "muster_deleted_total", "class=\"business\"", "")                                                        \
    X(METRIC_DELETED_LLM,       "muster_deleted_total", "class=\"llm\"", "")                                                             \
    X(METRIC_DELETED_ALERTS,    "muster_deleted_total", "class=\"alerts\"", "")                                                           \
    X(METRIC_DAMAGED_ROWS,      "muster_damaged_rows_total", "", "Stored rows read that did not match their checksum")                \
    X(METRIC_FEED_MESSAGES,     "muster_feed_messages_total", "", "Live update messages, each counted once")                            \
    X(METRIC_FEED_DROPPED,      "muster_feed_dropped_total", "", "Live update streams dropped: client gone or too slow")               \
    X(METRIC_WATCH_LOOKS,       "muster_watch_looks_total", "", "Alert evaluation ticks (about one per second)")                      \
    X(METRIC_ALERTS_SILENT,     "muster_alerts_opened_total", "type=\"agent.silent\"", "Alerts opened by type")                        \
    X(METRIC_ALERTS_FAILED,     "muster_alerts_opened_total", "type=\"run.failed\"", "")                                              \
    X(METRIC_ALERTS_STUCK,      "muster_alerts_opened_total", "type=\"run.stuck\"", "")                                               \
    X(METRIC_ALERTS_KPI,        "muster_alerts_opened_total", "type=\"kpi.crossed\"", "")                                             \
    X(METRIC_ALERTS_BUDGET,     "muster_alerts_opened_total", "type=\"budget.exceeded\"", "")  \
    X(METRIC_ALERTS_FORECAST,   "muster_alerts_opened_total", "type=\"budget.forecast\"", "")  \
    X(METRIC_ALERTS_FAILING,    "muster_alerts_opened_total", "type=\"agent.failing\"", "")    \
    X(METRIC_ALERTS_RATE,       "muster_alerts_opened_total", "type=\"failure_rate.exceeded\"", "") \
    X(METRIC_ALERTS_DURATION,   "muster_alerts_opened_total", "type=\"duration.exceeded\"", "")

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
enum metric { METRIC_MAP(METRIC_ENUM) METRICS_N };
enum metric_gauge { GAUGE_MAP(METRIC_ENUM) GAUGES_N };
enum metric_histogram { HISTOGRAM_MAP(METRIC_ENUM) HISTOGRAMS_N };
#undef METRIC_ENUM

/* Extra cells for counters whose labels are known only at run time. */
enum { METRIC_EXTRA_MAX = 4096 };

void metric_add(enum metric metric, uint64_t n);

/* Adds to a gauge; `by` may be negative. */
void metric_move(enum metric_gauge gauge, int64_t by);

/* A value in microseconds, or a plain number, as the table says. */
void metric_observe(enum metric_histogram histogram, uint64_t value);

void metric_extra_add(size_t cell, uint64_t n);
uint64_t metric_extra_sum(size_t cell);
uint64_t metric_sum(enum metric metric);

/* Prints the tables in the Prometheus text format, version 0.0.4. */
void metric_print(struct buf *out);

/* Prints the HELP and TYPE lines of a metric family whose samples the caller prints: a name without
 * labels, a type ("gauge", "counter"). */
void metric_print_head(struct buf *out, const char *name, const char *type, const char *help);
