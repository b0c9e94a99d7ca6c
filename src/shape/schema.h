/* schema.h - the parts of an OpenAPI document that shapes give.
 *
 * shape_write_schema() in shape.h prints one shape; here is what goes with it.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

enum { SCHEMA_SET_MAX = 256 };

/* Shapes without repeats; starts as { 0 }. */
struct schema_set {
    const struct shape *items[SCHEMA_SET_MAX];
    size_t n;
};

/* Adds the shape and all shapes nested in it, however deep, that are not there yet. */
void schema_set_add(struct schema_set *set, const struct shape *shape);

/* The schema of one member, for a parameter of a query or path. */
void schema_write_field(const struct field *field, struct buf *out);

/* The two schemas of a 422, as "ValidationError":{…},"HTTPValidationError":{…}: their members are
 * unlike those of any shape. */
void schema_write_validation_errors(struct buf *out);
