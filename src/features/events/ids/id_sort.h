/* id_sort.h - sorts ids by their hashes, which are uniform; private to this folder. */
#pragma once
#include <stddef.h>

#include "features/events/ids/id_table.h"

/* Writes the `n` entries in the order of their hashes to `ret`, which does not overlap them. */
void id_sort(const struct id_entry *entries, size_t n, struct id_entry *ret);
