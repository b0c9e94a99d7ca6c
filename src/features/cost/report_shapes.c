/* report_shapes.c - the shapes of LLM usage reports. */
#include "features/cost/report_shapes.h"

#include "shape/table.h"

static const char *const verdicts[] = { "accepted", "rejected", NULL };

/* clang-format off */
#define OWNER struct llm_usage
SHAPE_BEGIN(llm_usage_shape)
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
SHAPE_END(llm_usage_shape, "LLMUsage", .doc = "Tokens that one run used of one model.");
#undef OWNER

#define OWNER struct llm_verdict
SHAPE_BEGIN(llm_verdict_shape)
    { STR(status),    .flags = F_REQUIRED, .choices = verdicts },
    { UUID(run_id),   .flags = F_REQUIRED },
    { STR(model),     .flags = F_REQUIRED },
    { BOOL(replaced), .flags = F_REQUIRED, .doc = "Whether this report replaced an earlier one with other numbers, whose tokens no longer count." },
    { STR(reason),    .flags = F_OMIT, .doc = "Why it was rejected." },
    { STR(detail),    .flags = F_OMIT, .doc = "The reason as a sentence." },
SHAPE_END(llm_verdict_shape, "LLMVerdict", .doc = "Result of a usage report.");
#undef OWNER
/* clang-format on */
