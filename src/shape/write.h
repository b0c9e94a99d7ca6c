/* write.h - parts of a struct as JSON, and structs as lines of CSV, by their tables.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* A member that is not null; `from` is where it is. */
void shape_write_member(const struct field *field, const void *from, struct buf *out);

/* A list of struct named_value as an object. */
void shape_write_values(const struct list *list, struct buf *out);

/* CSV (RFC 4180): CRLF, quotes where needed. Null is an empty cell, what is nested is JSON text. A
 * text that a spreadsheet would take for a formula (it begins with = + - @ TAB or CR) gets an
 * apostrophe before it; numbers never do. */

/* The names of the members. */
void csv_write_head(const struct shape *shape, struct buf *out);

/* One line. */
void csv_write_row(const struct shape *shape, const void *value, struct buf *out);
