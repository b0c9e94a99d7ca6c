/* shapes.c - the tables of JSON-RPC messages and of the parameters of methods. */
#include "features/mcp/shapes.h"

#include "shape/table.h"

/* clang-format off */
#define OWNER struct rpc_message
SHAPE_BEGIN(rpc_message_shape)
    { STR(jsonrpc),   .flags = F_REQUIRED },
    { JSON(id),       .flags = F_NULL },
    { STR(method),    .flags = F_NULL },
    { OBJECT(params), .absent = "{}" },
    { JSON(result),   .flags = F_NULL },
    { JSON(error),    .flags = F_NULL },
SHAPE_END(rpc_message_shape, "RpcMessage");
#undef OWNER

#define OWNER struct rpc_error
SHAPE_BEGIN(rpc_error_shape)
    { INT(code),    .flags = F_REQUIRED, .doc = "-32700 not JSON, -32600 not a message, -32601 unknown method, -32602 bad parameters, -32603 a failure of the service, -32000 refused as the HTTP status says." },
    { STR(message), .flags = F_REQUIRED, .doc = "What is wrong and how to fix it." },
STATIC_SHAPE_END(rpc_error_shape, "RpcError", .doc = "An error of JSON-RPC.",
          .example = EXAMPLE({"code": -32601, "message": "There is no method 'resources/list'"}));
#undef OWNER

#define ID_ROW { JSON(id), .flags = F_REQUIRED | F_NULL, .doc = "Of the request. Null: it is not known." }

#define OWNER struct rpc_answer
SHAPE_BEGIN(rpc_answer_shape)
    { STR(jsonrpc),   .flags = F_REQUIRED, .doc = "Always 2.0." },
    ID_ROW,
    { OBJECT(result), .flags = F_OMIT, .doc = "As the Model Context Protocol says for the method." },
    { SHAPE(error, struct rpc_error, rpc_error_shape), .flags = F_OMIT, .doc = "Sent instead of a result: what went wrong." },
SHAPE_END(rpc_answer_shape, "RpcAnswer", .doc = "Answer to a request of JSON-RPC: a result or an error.",
          .example = EXAMPLE({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "{\"alerts\":[],\"next\":null}"}], "structuredContent": {"alerts": [], "next": null}, "isError": false}}));
#undef OWNER

#define OWNER struct rpc_answer
SHAPE_BEGIN(rpc_failure_shape)
    { STR(jsonrpc), .flags = F_REQUIRED, .doc = "Always 2.0." },
    ID_ROW,
    { SHAPE(error, struct rpc_error, rpc_error_shape), .flags = F_REQUIRED, .doc = "Why the message was refused." },
SHAPE_END(rpc_failure_shape, "RpcFailure", .doc = "An error of JSON-RPC, with the HTTP status of the refusal.",
          .example = EXAMPLE({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Invalid or expired token"}}));
#undef OWNER

#define OWNER struct initialize_params
SHAPE_BEGIN(initialize_params_shape)
    { STR_AS("protocolVersion", version), .max = 64, .flags = F_REQUIRED },
SHAPE_END(initialize_params_shape, "InitializeParams");
#undef OWNER

#define OWNER struct list_params
SHAPE_BEGIN(list_params_shape)
    { STR(cursor), .flags = F_NULL },
SHAPE_END(list_params_shape, "ListParams");
#undef OWNER

#define OWNER struct tool_params
SHAPE_BEGIN(tool_params_shape)
    { STR(name),         .max = 256, .flags = F_REQUIRED },
    { OBJECT(arguments), .flags = F_NULL },
SHAPE_END(tool_params_shape, "ToolParams");
#undef OWNER
/* clang-format on */
