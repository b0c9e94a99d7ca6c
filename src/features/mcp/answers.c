/* answers.c - writes results and errors of JSON-RPC. */
#include "features/mcp/answers.h"

#include "api/call.h"
#include "features/mcp/message.h"

void rpc_begin(struct buf *out, struct str id)
{
    buf_add_c(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add(out, id);
    buf_add_c(out, ",\"result\":");
}

void rpc_end(struct buf *out)
{
    buf_add_char(out, '}');
}

void rpc_add_error(struct buf *out, struct str id, enum rpc_code code, struct str message)
{
    struct rpc_error error = { .code = code, .message = message };
    const struct rpc_answer answer = { .jsonrpc = STR_LIT("2.0"), .id = id, .error = &error };

    shape_write_json(&rpc_failure_shape, &answer, out);
}

void rpc_add_tool_error(struct buf *out, struct str sentence)
{
    buf_add_c(out, "{\"content\":[{\"type\":\"text\",\"text\":");
    buf_add_json(out, sentence);
    buf_add_c(out, "}],\"isError\":true}");
}

void rpc_add_tool_result(struct buf *out, struct str object)
{
    buf_add_c(out, "{\"content\":[{\"type\":\"text\",\"text\":");
    buf_add_json(out, object);
    buf_add_c(out, "}],\"structuredContent\":");
    buf_add(out, object);
    buf_add_c(out, ",\"isError\":false}");
}

/* Refusals before the message is read, such as a 401, have no id and only HTTP's status. */
const char *mcp_write(const struct api_call *call, const struct call_refusal *refusal,
                      struct buf *out)
{
    const struct mcp_exchange *x = call->own;
    enum rpc_code code = x == NULL || refusal->status != 400 ? RPC_REFUSED : x->code;

    if (refusal->status == 500)
        code = RPC_INTERNAL;
    rpc_add_error(out, x == NULL ? STR_NULL : x->message.id, code, refusal->body.detail);
    return "application/json";
}
