/* shapes.c - the tables of OTLP's answers. */
#include "features/otlp/shapes.h"

#include "shape/table.h"

/* clang-format off */
#define PARTIAL(shape) FIELD_AT("partialSuccess", partial, struct otlp_part *, T_SHAPE), .nested = &(shape)

#define OWNER struct otlp_part
SHAPE_BEGIN(traces_part_shape)
    { STR_AS("rejectedSpans", rejected), .flags = F_REQUIRED, .doc = "Number of spans that were not stored, in digits." },
    { STR_AS("errorMessage", message),   .flags = F_REQUIRED, .doc = "Why the first of them was not." },
STATIC_SHAPE_END(traces_part_shape, "OtlpTracesPartialSuccess", .doc = "Spans that were not stored and need not be sent again.",
          .example = EXAMPLE({"rejectedSpans": "1", "errorMessage": "1 of 12 not stored; the first is span 00f067aa0ba902b7: it has no start time"}));
#undef OWNER

#define OWNER struct otlp_part
SHAPE_BEGIN(logs_part_shape)
    { STR_AS("rejectedLogRecords", rejected), .flags = F_REQUIRED, .doc = "Number of log records that were not stored, in digits." },
    { STR_AS("errorMessage", message),        .flags = F_REQUIRED, .doc = "Why the first of them was not." },
STATIC_SHAPE_END(logs_part_shape, "OtlpLogsPartialSuccess", .doc = "Log records that were not stored and need not be sent again.",
          .example = EXAMPLE({"rejectedLogRecords": "1", "errorMessage": "1 of 12 not stored; the first is log record of span 00f067aa0ba902b7: it has a NUL character or a lone surrogate"}));
#undef OWNER

#define OWNER struct otlp_answer
SHAPE_BEGIN(traces_answer_shape)
    { PARTIAL(traces_part_shape), .flags = F_OMIT, .doc = "Left out when all spans are stored." },
SHAPE_END(traces_answer_shape, "OtlpTraces", .doc = "Answer to an export of spans.");
#undef OWNER

#define OWNER struct otlp_answer
SHAPE_BEGIN(logs_answer_shape)
    { PARTIAL(logs_part_shape), .flags = F_OMIT, .doc = "Left out when all log records are stored." },
SHAPE_END(logs_answer_shape, "OtlpLogs", .doc = "Answer to an export of log records.");
#undef OWNER

#define OWNER struct rpc_status
SHAPE_BEGIN(rpc_status_shape)
    { INT(code),    .flags = F_REQUIRED, .doc = "A google.rpc.Code." },
    { STR(message), .flags = F_REQUIRED, .doc = "What is wrong and how to fix it." },
SHAPE_END(rpc_status_shape, "RpcStatus", .doc = "google.rpc.Status, as OTLP answers errors.",
          .example = EXAMPLE({"code": 16, "message": "Invalid or expired token"}));
#undef OWNER
/* clang-format on */
