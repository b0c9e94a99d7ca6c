/* reports.h - reports of LLM usage on their way into the store.
 *
 * The writer applies a report in one transaction, together with other requests.
 */
#pragma once
#include "api/route.h"
#include "features/agents/report.h"

struct llm_totals;
struct llm_usage;

struct llm_report {
    struct report report;
    const struct llm_usage *body;
    bool replaced; /* another report */
};

/* Fills in the job of a report that has begun, for the caller to submit. */
void llm_report_prepare(struct llm_report *llm);

/* Stores the usage. Where there is one with the same identity, the two are added: for what is known
 * to be reported once. */
int llm_usage_add(struct db *db, const struct report_key *place, const struct llm_usage *usage,
                  struct llm_totals *totals, struct error *err) MUST_CHECK;

struct llm_agent {
    int64_t tenant_id, agent_id;
};

/* The newest report of an agent. */
struct llm_last {
    struct str model; /* STR_NULL: there is none */
    int64_t at;       /* TIME_NULL */
};

/* Of the day of `until` and the 31 before. The model is in the arena. */
int llm_usage_last(struct db *db, const struct llm_agent *of, int64_t until, struct arena *arena,
                   struct llm_last *ret, struct error *err) MUST_CHECK;

extern const struct route llm_report_routes[];
