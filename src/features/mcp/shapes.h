/* shapes.h - JSON-RPC messages of the Model Context Protocol. */
#pragma once
#include "shape/shape.h"

/* A request; a notification when it has no id; a response when it has no method. */
struct rpc_message {
    struct str jsonrpc;
    struct str id; /* JSON text of a string or number; STR_NULL: none */
    struct str method;
    struct str params; /* JSON text of an object */
    struct str result; /* JSON text; of a response */
    struct str error;
};

/* An answer with a result or an error, for the OpenAPI document and for errors. */
struct rpc_error {
    int64_t code;
    struct str message;
};

struct rpc_answer {
    struct str jsonrpc;
    struct str id;     /* JSON text; STR_NULL: null */
    struct str result; /* JSON text; STR_NULL: an error */
    struct rpc_error *error;
};

struct initialize_params {
    struct str version; /* the newest that the client speaks */
};

struct list_params {
    struct str cursor;
};

struct tool_params {
    struct str name;
    struct str arguments; /* JSON text of an object */
};

extern const struct shape rpc_message_shape, rpc_answer_shape, rpc_failure_shape,
    initialize_params_shape, list_params_shape, tool_params_shape;
