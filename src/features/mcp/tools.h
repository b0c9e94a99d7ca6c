/* tools.h - the tools: reads of the API under the names of their operations.
 *
 * A tool is a row that names a GET route by its operation id. Its arguments are
 * the route's path and query parameters, without the workspace, which the key
 * names; its answer is the route's. So a tool needs no code of its own, and sees
 * what the ordinary read sees.
 *
 * Thread-safe: rows are const, and the rest is in the caller's arena.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

struct problems;
struct route;
struct route_table;

struct mcp_tool {
    const char *id; /* of the route's operation; also the tool's name */
    const char *title, *description;
    const char *page; /* default of `limit`; NULL: the route's */
    int64_t page_max; /* most of `limit`; 0: the route's */
};

/* Ends in a row without an id. */
extern const struct mcp_tool mcp_tools[];

/* NULL: there is no such tool. */
const struct mcp_tool *mcp_tool_find(struct str name);

const struct route *mcp_tool_route(const struct mcp_tool *tool, const struct route_table *routes);

/* The elements of tools/list, as a JSON array. */
void mcp_tools_write(const struct route_table *routes, struct arena *arena, struct buf *out);

/* Path and query parameters of a route, as its read takes them. */
struct mcp_input {
    struct str slug; /* of the key's workspace; set by the caller */
    void *params, *query;
};

/* Checks the arguments, the JSON text of an object, as the route would check its parameters;
 * members that no parameter has are refused too. -1: `problems` has at least one. */
int mcp_tool_read(const struct mcp_tool *tool, const struct route *route, struct str arguments,
                  struct arena *arena, struct mcp_input *input,
                  struct problems *problems) MUST_CHECK;
