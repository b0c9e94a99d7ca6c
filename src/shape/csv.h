/* csv.h - structs as lines of CSV, by their tables.
 *
 * RFC 4180: CRLF, quotes where needed. Null is an empty cell, what is nested
 * is JSON text. A text that a spreadsheet would take for a formula (it begins
 * with = + - @ TAB or CR) gets an apostrophe before it; numbers never do.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "shape/shape.h"

/* The names of the members. */
void csv_write_head(const struct shape *shape, struct buf *out);

/* One line. */
void csv_write_row(const struct shape *shape, const void *value, struct buf *out);
