/* shapes.c - the tables of OTLP's answers. */
#include "features/otlp/shapes.h"

#include "shape/table.h"

/* clang-format off */
#define PARTIAL(shape, ...) \
    FIELD_AT("partialSuccess", partial, struct otlp_part *, T_SHAPE, .nested = &(shape), __VA_ARGS__)

SHAPE_TABLE(static, traces_part_shape, struct otlp_part, "OtlpTracesPartialSuccess", (.doc = "Spans that were not stored and need not be sent again.",
      .example = EXAMPLE({"rejectedSpans": "1", "errorMessage": "1 of 12 not stored; the first is span 00f067aa0ba902b7: it has no start time"})),
    STR_AS("rejectedSpans", rejected, .flags = F_REQUIRED, .doc = "Number of spans that were not stored, in digits."),
    STR_AS("errorMessage", message,   .flags = F_REQUIRED, .doc = "Why the first of them was not."));

SHAPE_TABLE(static, logs_part_shape, struct otlp_part, "OtlpLogsPartialSuccess", (.doc = "Log records that were not stored and need not be sent again.",
      .example = EXAMPLE({"rejectedLogRecords": "1", "errorMessage": "1 of 12 not stored; the first is log record of span 00f067aa0ba902b7: it has a NUL character or a lone surrogate"})),
    STR_AS("rejectedLogRecords", rejected, .flags = F_REQUIRED, .doc = "Number of log records that were not stored, in digits."),
    STR_AS("errorMessage", message,        .flags = F_REQUIRED, .doc = "Why the first of them was not."));

SHAPE_TABLE(static, metrics_part_shape, struct otlp_part, "OtlpMetricsPartialSuccess", (.doc = "Data points that were not stored and need not be sent again.",
      .example = EXAMPLE({"rejectedDataPoints": "6", "errorMessage": "6 of 6 data points not stored: no metrics are kept here, only spans and log records"})),
    STR_AS("rejectedDataPoints", rejected, .flags = F_REQUIRED, .doc = "Number of data points, in digits: all of them."),
    STR_AS("errorMessage", message,        .flags = F_REQUIRED, .doc = "Why they were not."));

SHAPE_TABLE(, traces_answer_shape, struct otlp_answer, "OtlpTraces", (.doc = "Answer to an export of spans."),
    PARTIAL(traces_part_shape, .flags = F_OMIT, .doc = "Left out when all spans are stored."));

SHAPE_TABLE(, logs_answer_shape, struct otlp_answer, "OtlpLogs", (.doc = "Answer to an export of log records."),
    PARTIAL(logs_part_shape, .flags = F_OMIT, .doc = "Left out when all log records are stored."));

SHAPE_TABLE(, metrics_answer_shape, struct otlp_answer, "OtlpMetrics", (.doc = "Answer to an export of metrics."),
    PARTIAL(metrics_part_shape, .flags = F_OMIT, .doc = "Left out when there are no data points."));

SHAPE(rpc_status, "RpcStatus", (.doc = "google.rpc.Status, as OTLP answers errors.",
      .example = EXAMPLE({"code": 16, "message": "Invalid or expired token"})),
    INT(code,    .flags = F_REQUIRED, .doc = "A google.rpc.Code."),
    STR(message, .flags = F_REQUIRED, .doc = "What is wrong and how to fix it."));
/* clang-format on */
