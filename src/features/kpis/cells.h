/* cells.h - parses the JSON text in which breakdowns are stored.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "shape/shape.h"

/* A JSON array of names as a list of struct str in the arena. False: it is not such an array. */
bool cells_read_names(struct str text, struct arena *arena, struct list *ret);

/* `values` are those of the cell's dimensions; their strings are valid during the call only. */
typedef void cells_fn(void *ctx, const struct named_value *values, double number);

/* Calls on_cell for each [value of each of `n` dimensions…, number] of a JSON array. `room` is
 * space for n values; their names are not changed. False: it is not such an array. */
bool cells_each(struct str text, struct named_value *room, size_t n, cells_fn *on_cell, void *ctx);
