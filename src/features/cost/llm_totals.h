/* llm_totals.h - sums of LLM usage by hour and day, agent and model.
 *
 * What the usage of one transaction changes is gathered and stored at its end,
 * in one order for all writers: those of PostgreSQL would wait for each other
 * in circles otherwise. A report with a number beyond LLM_LARGE is counted but
 * not summed up, so that no sum leaves 64 bits: who reads such a sum reads the
 * rows instead.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct db;
struct llm_totals;

#define LLM_LARGE (INT64_C(1) << 36)

enum llm_width { LLM_HOUR, LLM_DAY };

#define LLM_HOUR_US INT64_C(3600000000)
#define LLM_DAY_US  (24 * LLM_HOUR_US)

/* What one report counted; of a sum, all of them. */
struct llm_counts {
    int64_t input, output, cache_read, cache_write, calls;
};

/* Whose, and when. */
struct llm_place {
    int64_t tenant_id, agent_id, timestamp;
    struct str model;
};

struct llm_totals *llm_totals_new(void);

/* NULL is fine. */
void llm_totals_free(struct llm_totals *t);

/* Of a report that is new, and of one that is taken away. Copies the model. */
void llm_totals_add(struct llm_totals *t, const struct llm_place *place,
                    const struct llm_counts *counts);
void llm_totals_subtract(struct llm_totals *t, const struct llm_place *place,
                         const struct llm_counts *counts);

/* Inside the transaction, before its commit. */
int llm_totals_save(struct llm_totals *t, struct db *db, struct error *err) MUST_CHECK;

/* After it, whichever way it went. */
void llm_totals_clear(struct llm_totals *t);

/* The beginning of the hour or day. */
int64_t llm_totals_start(enum llm_width width, int64_t timestamp);

/* Of the input, the tokens that were not cached, if the input holds those: it does not when there
 * are more of them. All of `counts` within LLM_LARGE. */
int64_t llm_totals_fresh(const struct llm_counts *counts);
