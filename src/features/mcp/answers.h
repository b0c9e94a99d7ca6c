/* answers.h - JSON-RPC answers as text. */
#pragma once
#include "api/route.h"
#include "base/buf.h"
#include "base/str.h"

/* JSON-RPC's own codes, and one for what HTTP's status says already. */
enum rpc_code {
    RPC_NOT_JSON = -32700,
    RPC_NOT_A_MESSAGE = -32600,
    RPC_NO_METHOD = -32601,
    RPC_BAD_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_REFUSED = -32000,
};

/* {"jsonrpc":"2.0","id":…,"result": up to the result, which rpc_end() follows. */
void rpc_begin(struct buf *out, struct str id);
void rpc_end(struct buf *out);

/* An error; `id` STR_NULL: null. */
void rpc_add_error(struct buf *out, struct str id, enum rpc_code code, struct str message);

/* The result of a tool that failed, with a sentence for the model. */
void rpc_add_tool_error(struct buf *out, struct str sentence);

/* The result of a tool: JSON text of an object, as text and as structured content. */
void rpc_add_tool_result(struct buf *out, struct str object);

/* Refusals of the route, in JSON-RPC. */
call_write_fn mcp_write;
