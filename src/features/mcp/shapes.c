/* shapes.c - the tables of JSON-RPC messages and of the parameters of methods. */
#include "features/mcp/shapes.h"

#include "shape/table.h"

/* clang-format off */
SHAPE(rpc_message, "RpcMessage", (),
    STR(jsonrpc,   .flags = F_REQUIRED),
    JSON(id,       .flags = F_NULL),
    STR(method,    .flags = F_NULL),
    OBJECT(params, .absent = "{}"),
    JSON(result,   .flags = F_NULL),
    JSON(error,    .flags = F_NULL));

STATIC_SHAPE(rpc_error, "RpcError", (.doc = "An error of JSON-RPC.",
      .example = EXAMPLE({"code": -32601, "message": "There is no method 'resources/list'"})),
    INT(code,    .flags = F_REQUIRED, .doc = "-32700 not JSON, -32600 not a message, -32601 unknown method, -32602 bad parameters, -32603 a failure of the service, -32000 refused as the HTTP status says."),
    STR(message, .flags = F_REQUIRED, .doc = "What is wrong and how to fix it."));

#define ID_ROW JSON(id, .flags = F_REQUIRED | F_NULL, .doc = "Of the request. Null: it is not known.")

SHAPE(rpc_answer, "RpcAnswer", (.doc = "Answer to a request of JSON-RPC: a result or an error.",
      .example = EXAMPLE({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "{\"alerts\":[],\"next\":null}"}], "structuredContent": {"alerts": [], "next": null}, "isError": false}})),
    STR(jsonrpc,   .flags = F_REQUIRED, .doc = "Always 2.0."),
    ID_ROW,
    OBJECT(result, .flags = F_OMIT, .doc = "As the Model Context Protocol says for the method."),
    NESTED(error, struct rpc_error, rpc_error_shape, .flags = F_OMIT, .doc = "Sent instead of a result: what went wrong."));

SHAPE_TABLE(, rpc_failure_shape, struct rpc_answer, "RpcFailure", (.doc = "An error of JSON-RPC, with the HTTP status of the refusal.",
      .example = EXAMPLE({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Invalid or expired token"}})),
    STR(jsonrpc, .flags = F_REQUIRED, .doc = "Always 2.0."),
    ID_ROW,
    NESTED(error, struct rpc_error, rpc_error_shape, .flags = F_REQUIRED, .doc = "Why the message was refused."));

SHAPE(initialize_params, "InitializeParams", (),
    STR_AS("protocolVersion", version, .max = 64, .flags = F_REQUIRED));

SHAPE(list_params, "ListParams", (),
    STR(cursor, .flags = F_NULL));

SHAPE(tool_params, "ToolParams", (),
    STR(name,         .max = 256, .flags = F_REQUIRED),
    OBJECT(arguments, .flags = F_NULL));
/* clang-format on */
