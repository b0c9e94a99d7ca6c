/* price_file.h - files of prices: LiteLLM's form, and our own.
 *
 * LiteLLM's is an object of models, each with USD for one token; numbers there
 * are floats, so they are rounded to the 18 decimals that prices have. Our own
 * is {"prices":[…]}, as the list of prices is answered. A file is read whole:
 * everything that is wrong with it is said, and nothing of it is used then.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "features/cost/price_shapes.h"

/* Fills entries and skipped from the text and the format. */
void price_file_read(struct price_import *import, struct arena *arena, struct problems *problems);

/* Does this provider, as LiteLLM names it, count cached tokens among the input? */
bool price_file_includes_cache(struct str litellm_provider);
