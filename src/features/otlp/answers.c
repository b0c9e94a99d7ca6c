/* answers.c - answers and errors in protobuf and JSON. */
#include "features/otlp/answers.h"

#include "api/call.h"
#include "features/otlp/shapes.h"
#include "features/otlp/wire.h"
#include "http/exchange.h"

bool otlp_is_wire(const struct api_call *call)
{
    struct str type = http_header_get(&call->exchange->request, "content-type");

    return str_eq_nocase(str_trim(str_split(&type, ';')), STR_LIT("application/x-protobuf"));
}

/* Of google.rpc.Code, as its own mapping to HTTP has it. */
static int64_t rpc_code(int status)
{
    switch (status) {
    case 401:
        return 16; /* UNAUTHENTICATED */
    case 403:
        return 7; /* PERMISSION_DENIED */
    case 404:
        return 5; /* NOT_FOUND */
    case 408:
        return 4; /* DEADLINE_EXCEEDED */
    case 429:
    case 507:
        return 8; /* RESOURCE_EXHAUSTED */
    case 500:
        return 13; /* INTERNAL */
    case 503:
        return 14; /* UNAVAILABLE */
    default:
        return 3; /* INVALID_ARGUMENT */
    }
}

static void write_status(const struct call_refusal *refusal, bool is_wire, struct buf *out)
{
    const struct rpc_status status = { rpc_code(refusal->status), refusal->body.detail };

    if (!is_wire) {
        shape_write_json(&rpc_status_shape, &status, out);
        return;
    }
    wire_add_number(out, 1, (uint64_t)status.code);
    wire_add_bytes(out, 2, status.message);
}

/* The messages ExportTraceServiceResponse and ExportLogsServiceResponse: both have the same fields.
 */
static void write_answer(const struct otlp_answer *answer, struct buf *out)
{
    const struct otlp_part *partial = answer->partial;
    BUF_SCOPED(part, KIB(64));
    int64_t n;

    if (partial == NULL || !str_to_int(partial->rejected, &n))
        return;
    wire_add_number(&part, 1, (uint64_t)n);
    wire_add_bytes(&part, 2, partial->message);
    wire_add_bytes(out, 1, buf_str(&part));
}

const char *otlp_write(const struct api_call *call, const struct call_refusal *refusal,
                       struct buf *out)
{
    bool is_wire = otlp_is_wire(call);

    if (refusal != NULL)
        write_status(refusal, is_wire, out);
    else if (is_wire)
        write_answer(call->answer, out);
    else
        shape_write_json(call->route->answer, call->answer, out);
    return is_wire ? "application/x-protobuf" : "application/json";
}
