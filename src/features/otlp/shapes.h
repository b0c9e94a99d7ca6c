/* shapes.h - the answers of OTLP, in its JSON encoding.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* What was not stored, though the rest was. */
struct otlp_part {
    struct str rejected; /* a number: 64-bit integers are strings in protobuf's JSON */
    struct str message;
};

struct otlp_answer {
    struct otlp_part *partial; /* NULL (left out): all of it was stored */
};

/* Every error: google.rpc.Status. */
struct rpc_status {
    int64_t code; /* of google.rpc.Code */
    struct str message;
};

extern const struct shape traces_answer_shape;  /* "OtlpTraces", of struct otlp_answer */
extern const struct shape logs_answer_shape;    /* "OtlpLogs", the same with other names */
extern const struct shape metrics_answer_shape; /* "OtlpMetrics", too */
extern const struct shape rpc_status_shape;     /* "RpcStatus" */
