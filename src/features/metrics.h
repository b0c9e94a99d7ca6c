/* metrics.h - the counters of the features; those of the machinery are in base/metrics.h. */
#pragma once
#include "base/metrics.h"

/* clang-format off */
#define FEATURE_METRIC_MAP(X) \
    X(METRIC_EVENTS_ACCEPTED,   "muster_events_total", "verdict=\"accepted\"",  "Run events by result") \
    X(METRIC_EVENTS_DUPLICATE,  "muster_events_total", "verdict=\"duplicate\"", "") \
    X(METRIC_EVENTS_DISABLED,   "muster_events_total", "verdict=\"agent_disabled\"", "") \
    X(METRIC_EVENTS_CAP,        "muster_events_total", "verdict=\"agent_cap_reached\"", "") \
    X(METRIC_REPORTS_BUSINESS,  "muster_reports_total", "channel=\"business\"", "Business and LLM reports stored") \
    X(METRIC_REPORTS_LLM,       "muster_reports_total", "channel=\"llm\"", "") \
    X(METRIC_OTLP_TRACES,       "muster_otlp_rejected_total", "signal=\"traces\"", "Spans, log records and data points in partialSuccess") \
    X(METRIC_OTLP_LOGS,         "muster_otlp_rejected_total", "signal=\"logs\"", "") \
    X(METRIC_OTLP_METRICS,      "muster_otlp_rejected_total", "signal=\"metrics\"", "") \
    X(METRIC_AGENT_LOOKUPS,     "muster_agent_lookups_total", "", "Agents looked up in the database for a report, because the writer did not remember them") \
    X(METRIC_RUN_CACHE_HITS,    "muster_run_cache_total", "result=\"hit\"", "Run lookups for incoming events (SQLite)") \
    X(METRIC_RUN_CACHE_MISSES,  "muster_run_cache_total", "result=\"miss\"", "") \
    X(METRIC_ID_FILTER_STOPS,   "muster_id_filter_total", "result=\"absent\"", "Id index segments checked for an id (SQLite)") \
    X(METRIC_ID_FILTER_PASSES,  "muster_id_filter_total", "result=\"read\"", "") \
    X(METRIC_BUSY_EXPORTS,      "muster_refused_total", "queue=\"exports\"", "") \
    X(METRIC_QUOTA_REFUSED,     "muster_quota_refused_total", "", "Reports refused because the plan of their tenant has no room") \
    X(METRIC_SIGN_INS,              "muster_sign_ins_total", "way=\"password\",result=\"ok\"", "Sign-ins by way and result") \
    X(METRIC_SIGN_INS_REFUSED,      "muster_sign_ins_total", "way=\"password\",result=\"refused\"", "") \
    X(METRIC_OIDC_SIGN_INS,         "muster_sign_ins_total", "way=\"oidc\",result=\"ok\"", "") \
    X(METRIC_OIDC_REFUSED,          "muster_sign_ins_total", "way=\"oidc\",result=\"refused\"", "") \
    X(METRIC_OIDC_FAILED,           "muster_sign_ins_total", "way=\"oidc\",result=\"failed\"", "") \
    X(METRIC_OIDC_UNAVAILABLE,      "muster_oidc_errors_total", "reason=\"unavailable\"", "Requests to the identity provider that failed") \
    X(METRIC_OIDC_INVALID,          "muster_oidc_errors_total", "reason=\"invalid\"", "") \
    X(METRIC_DELETED_RUNS,      "muster_deleted_total", "class=\"runs\"", "Rows deleted by retention") \
    X(METRIC_DELETED_EVENTS,    "muster_deleted_total", "class=\"events\"", "") \
    X(METRIC_DELETED_BUSINESS,  "muster_deleted_total", "class=\"business\"", "") \
    X(METRIC_DELETED_LLM,       "muster_deleted_total", "class=\"llm\"", "") \
    X(METRIC_DELETED_ALERTS,    "muster_deleted_total", "class=\"alerts\"", "") \
    X(METRIC_FEED_MESSAGES,     "muster_feed_messages_total", "", "Live update messages, each counted once") \
    X(METRIC_FEED_DROPPED,      "muster_feed_dropped_total", "", "Live update streams dropped: client gone or too slow") \
    X(METRIC_WATCH_LOOKS,       "muster_watch_looks_total", "", "Alert evaluation ticks (about one per second)") \
    X(METRIC_ALERTS_SILENT,     "muster_alerts_opened_total", "type=\"agent.silent\"", "Alerts opened by type") \
    X(METRIC_ALERTS_FAILED,     "muster_alerts_opened_total", "type=\"run.failed\"", "") \
    X(METRIC_ALERTS_STUCK,      "muster_alerts_opened_total", "type=\"run.stuck\"", "") \
    X(METRIC_ALERTS_KPI,        "muster_alerts_opened_total", "type=\"kpi.crossed\"", "") \
    X(METRIC_ALERTS_BUDGET,     "muster_alerts_opened_total", "type=\"budget.exceeded\"", "") \
    X(METRIC_ALERTS_FORECAST,   "muster_alerts_opened_total", "type=\"budget.forecast\"", "") \
    X(METRIC_ALERTS_FAILING,    "muster_alerts_opened_total", "type=\"agent.failing\"", "") \
    X(METRIC_ALERTS_RATE,       "muster_alerts_opened_total", "type=\"failure_rate.exceeded\"", "") \
    X(METRIC_ALERTS_DURATION,   "muster_alerts_opened_total", "type=\"duration.exceeded\"", "")
/* clang-format on */

#define METRIC_ENUM(id, ...) id,
enum feature_metric { METRICS_BEFORE = METRICS_OWN - 1, FEATURE_METRIC_MAP(METRIC_ENUM) };
#undef METRIC_ENUM
