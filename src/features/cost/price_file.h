/* price_file.h - reads price files in LiteLLM's format, or our own.
 *
 * LiteLLM's is an object of models, each with USD per token; its numbers are
 * floats, so they are rounded to the 18 decimals that prices have. Our own is
 * {"prices":[…]}, as answered by the list of prices. A file is always read to
 * the end: all of its problems are reported, and then nothing of it is used.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "features/cost/price_shapes.h"

/* Fills entries and skipped from the text and the format. */
void price_file_read(struct price_import *import, struct arena *arena, struct problems *problems);

/* The date of a file in the muster format, its member as_of; TIME_NULL without a valid one. */
int64_t price_file_as_of(struct str text, struct arena *arena);
