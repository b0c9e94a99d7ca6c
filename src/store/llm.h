/* llm.h - LLM usage as rows: tokens only, cost is computed when read.
 *
 * Layer: store. May use: base, contract, db.
 */
#pragma once
#include "base/err.h"
#include "store/place.h"

struct db;
struct llm_usage;

/* Stores the usage, or replaces the one of the same (tenant, agent, run, model, timestamp). The
 * same numbers again change nothing. */
int store_llm_put(struct db *db, const struct report_place *place, const struct llm_usage *usage,
                  struct error *err) MUST_CHECK;
