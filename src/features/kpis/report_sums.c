/* report_sums.c - what the checksums of business reports cover. */
#include "features/kpis/report_sums.h"

/* clang-format off */
const struct row_sum business_run_sum = {
    .table = "business_runs",
    .types = "iititt",
    .key = (const char *const[]){ "tenant_id", "agent_id", "run_id", NULL },
    .all = { .sql = "SELECT " BUSINESS_RUN_SUMMED("") ", 1 FROM business_runs" },
};
const struct row_sum business_value_sum = {
    .table = "business_values",
    .types = "iittiiiirt",
    .key = (const char *const[]){ "tenant_id", "run_no", "key", NULL },
    .all = { .sql = "SELECT " BUSINESS_VALUE_SUMMED("") ", 0 FROM business_values" },
};
const struct row_sum business_breakdown_sum = {
    .table = "business_breakdowns",
    .types = "iitttiiit",
    .key = (const char *const[]){ "tenant_id", "run_no", "metric", "dimensions", NULL },
    .all = { .sql = "SELECT " BUSINESS_BREAKDOWN_SUMMED("") ", 1 FROM business_breakdowns" },
};
/* clang-format on */
