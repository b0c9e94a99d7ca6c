/* cells.h - breakdowns in the form in which they are kept: JSON text, read back.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"
#include "shape/shape.h"

/* The names of a JSON array, as a list of struct str in the arena. False: it is none. */
bool cells_read_names(struct str text, struct arena *arena, struct list *ret);

/* `values` are those of the cell's dimensions; their strings are borrowed for the call. */
typedef void cells_fn(void *ctx, const struct named_value *values, double number);

/* Each [value of each of `n` dimensions…, number] of a JSON array. `room` is for n values, whose
 * names are left as they are. False: it is no such array. */
bool cells_each(struct str text, struct named_value *room, size_t n, cells_fn *on_cell, void *ctx);
