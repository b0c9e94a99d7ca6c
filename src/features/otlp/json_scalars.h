/* json_scalars.h - numbers and bytes as protobuf's mapping to JSON writes them.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/str.h"

struct yyjson_val;

/* A 64-bit integer, signed or not, as its bits: a number or digits in a string. A whole number may
 * be written with a fraction. False: it is anything else. */
bool otlp_json_integer(struct yyjson_val *value, uint64_t *ret);

/* Also "NaN" and the infinities. */
bool otlp_json_real(struct yyjson_val *value, double *ret);

/* Also in the alphabet for URLs, and without padding. */
bool otlp_is_base64(struct str text);
