/* report_sums.c - what the checksums of business reports cover. */
#include "features/kpis/report_sums.h"

/* A row's own number is in no sum: PostgreSQL gives it when the row is stored. In SQLite it says
 * whether the row is younger than sums are. */
#define YOUNGER(number, topic)                                                                     \
    ", " number " > (SELECT number FROM change_numbers WHERE topic = '" topic "')"

/* clang-format off */
const struct row_sum business_run_sum = {
    .table = "business_runs",
    .types = "iititt",
    .key = (const char *const[]){ "tenant_id", "agent_id", "run_id", NULL },
    .all = {
        .sqlite = "SELECT " BUSINESS_RUN_SUMMED("")
                  YOUNGER("run_no", "business_run_no_without_sum") " FROM business_runs",
        .postgres = "SELECT " BUSINESS_RUN_SUMMED("") ", 0 FROM business_runs",
    },
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
    .all = {
        .sqlite = "SELECT " BUSINESS_BREAKDOWN_SUMMED("")
                  YOUNGER("breakdown_no", "breakdown_no_without_sum") " FROM business_breakdowns",
        .postgres = "SELECT " BUSINESS_BREAKDOWN_SUMMED("") ", 0 FROM business_breakdowns",
    },
};
/* clang-format on */
