/* write.h - parts of a struct as JSON, by its table.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* `from` is the member that the field describes. */
bool shape_member_is_null(const struct field *field, const void *from);

/* A member that is not null. */
void shape_write_member(const struct field *field, const void *from, struct buf *out);

/* A list of struct named_value as an object. */
void shape_write_values(const struct list *list, struct buf *out);
