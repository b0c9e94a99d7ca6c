/* rule_detail.h - what an alert says about the rule that raised it.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "shape/shape.h"

/* The rule as a JSON object with one more member, whose value is JSON; in the arena. */
struct str rule_detail(const struct shape *shape, const void *rule, const char *name,
                       struct str value, struct arena *arena);

/* The rule with several more members: `"name":value`, separated by commas. */
struct str rule_detail_with(const struct shape *shape, const void *rule, struct str members,
                            struct arena *arena);

/* A number as JSON, whole ones without a fraction; in the arena. */
struct str rule_number_text(double value, struct arena *arena);
