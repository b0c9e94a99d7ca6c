/* message.h - what a message of JSON-RPC asks for, between the steps of its call. */
#pragma once
#include "features/mcp/answers.h"
#include "features/mcp/shapes.h"

struct route;

/* call->own of the route. */
struct mcp_exchange {
    struct rpc_message message;
    enum rpc_code code;       /* of a refusal */
    const struct route *tool; /* the read of a tool */
};
