/* report_sums.c - what the checksum of LLM usage covers. */
#include "features/cost/report_sums.h"

/* clang-format off */
const struct row_sum llm_usage_sum = {
    .table = "llm_usage",
    .types = "iiittiiiiiitt",
    .key = (const char *const[]){ "tenant_id", "timestamp", "agent_id", "run_id", "model", NULL },
    .all = { .sql = "SELECT " USAGE_SUMMED("") ", 0 FROM llm_usage" },
};
/* clang-format on */
