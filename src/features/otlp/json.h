/* json.h - OTLP in JSON: numbers and bytes as protobuf's mapping has them, and what is wrong where.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"

struct yyjson_val;

/* A 64-bit integer, signed or not, as its bits: a number or digits in a string. A whole number may
 * be written with a fraction. False: it is anything else. */
bool otlp_json_integer(struct yyjson_val *value, uint64_t *ret);

/* Also "NaN" and the infinities. */
bool otlp_json_real(struct yyjson_val *value, double *ret);

/* Also in the alphabet for URLs, and without padding. */
bool otlp_is_base64(struct str text);

/* A copy of the text in which every value beyond JSON_DEPTH_MAX levels is an empty string, so that
 * one attribute that is nested too deeply costs its own record and not the request: no nested value
 * of OTLP is a string, so it is refused as malformed. STR_NULL: nothing is that deep. */
struct str otlp_json_flatten(struct str text, struct arena *arena);

/* The path from the root to a value in it: "resourceSpans[0].scopeSpans[1].spans"; of the root,
 * "the body". */
struct str otlp_json_path(struct yyjson_val *root, const struct yyjson_val *value,
                          struct arena *arena);
