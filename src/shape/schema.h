/* schema.h - the parts of an OpenAPI document that come from shapes.
 *
 * shape_write_schema() in shape.h prints one shape.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

enum { SCHEMA_SET_MAX = 512 };

/* Distinct shapes; starts as { 0 }. */
struct schema_set {
    const struct shape *items[SCHEMA_SET_MAX];
    size_t n;
};

/* Adds the shape and all shapes nested in it at any depth, unless they are in the set. */
void schema_set_add(struct schema_set *set, const struct shape *shape);

/* The schema of one member, for a parameter of a query or path. */
void schema_write_field(const struct field *field, struct buf *out);

/* A complete example of the shape: what EXAMPLE() says, and what is derived. */
void schema_write_example(const struct shape *shape, struct arena *arena, struct buf *out);

/* The JSON text of a member in EXAMPLE(); STR_NULL when it is not stated there. */
struct str schema_example_of(const struct shape *shape, const char *name, struct arena *arena);

/* The two schemas of a 422, as "ValidationError":{…},"HTTPValidationError":{…}, which no shape can
 * describe. */
void schema_write_validation_errors(struct buf *out);
