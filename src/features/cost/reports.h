/* reports.h - reports of LLM usage on their way into the store.
 *
 * The writer applies a report in one transaction, together with other requests.
 */
#pragma once
#include "features/agents/report.h"

struct llm_usage;

struct llm_report {
    struct report report;
    const struct llm_usage *body;
    bool replaced; /* another report */
};

/* Fills in the job of a report that has begun, for the caller to submit. */
void llm_report_prepare(struct llm_report *llm);
