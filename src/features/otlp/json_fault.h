/* json_fault.h - where in a JSON body something is wrong, and how to take the rest of it.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"

struct yyjson_val;

/* A copy of the text in which every value beyond JSON_DEPTH_MAX levels is an empty string, so that
 * one attribute that is nested too deeply costs its own record and not the request: no nested value
 * of OTLP is a string, so it is refused as malformed. STR_NULL: nothing is that deep. */
struct str otlp_json_flatten(struct str text, struct arena *arena);

/* The path from the root to a value in it: "resourceSpans[0].scopeSpans[1].spans"; of the root,
 * "the body". */
struct str otlp_json_path(struct yyjson_val *root, const struct yyjson_val *value,
                          struct arena *arena);
