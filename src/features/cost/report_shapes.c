/* report_shapes.c - the tables of the LLM-usage channel. */
#include "features/cost/report_shapes.h"

#include "shape/table.h"

static const char *const verdicts[] = { "accepted", "rejected", NULL };

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct llm_usage
static const struct field llm_usage_fields[] = {
    { STR(agent_name),         .max = 256, .flags = F_REQUIRED },
    { STR(agent_version),      .max = 256, .absent = "\"\"" },
    { STR(client_id),          .max = 256, .absent = "\"\"", .doc = "Tenant slug." },
    { UUID(run_id),                        .flags = F_REQUIRED },
    { TIME(timestamp),                     .flags = F_REQUIRED },
    { STR(model),              .max = 256, .flags = F_REQUIRED },
    { INT(input_tokens),                   .absent = "0" },
    { INT(output_tokens),                  .absent = "0" },
    { INT(cache_read_tokens),              .absent = "0" },
    { INT(cache_write_tokens),             .absent = "0" },
    { INT(calls),                          .absent = "0" },
    { STR(workflow_run_id),    .max = 256, .flags = F_NULL },
};
#undef OWNER

#define OWNER struct llm_verdict
static const struct field llm_verdict_fields[] = {
    { STR(status),  .flags = F_REQUIRED, .choices = verdicts },
    { UUID(run_id), .flags = F_REQUIRED },
    { STR(model),   .flags = F_REQUIRED },
    { STR(reason),  .flags = F_OMIT, .doc = "Why it was rejected." },
    { STR(detail),  .flags = F_OMIT, .doc = "The same for people." },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape llm_usage_shape = {
    SHAPE_OF("LLMUsage", struct llm_usage, llm_usage_fields),
    .doc = "Tokens of one model, used by one run.",
};

const struct shape llm_verdict_shape = {
    SHAPE_OF("LLMVerdict", struct llm_verdict, llm_verdict_fields),
    .doc = "What became of a usage report.",
};
