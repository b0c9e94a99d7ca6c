/* report_shapes.c - the shapes of LLM usage reports. */
#include "features/cost/report_shapes.h"

#include "shape/table.h"

static const char *const verdicts[] = { "accepted", "rejected", NULL };

/* clang-format off */
SHAPE(llm_usage, "LLMUsage", (.doc = "Tokens that one run used of one model.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "client_id": "acme", "model": "gpt-5-mini", "input_tokens": 18000, "output_tokens": 2400, "cache_read_tokens": 6000, "cache_write_tokens": 0, "calls": 12})),
    STR(agent_name,         .min = 1, .max = 256, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(agent_version,      .max = 256, .absent = "\"\"", .doc = "Version of the agent, as it reports it."),
    STR(client_id,          .max = 256, .absent = "\"\"", .doc = "Tenant slug."),
    UUID(run_id,                        .flags = F_REQUIRED, .doc = "Identifies the run."),
    TIME(timestamp,                     .flags = F_REQUIRED, .doc = "When the tokens were used, by the clock of the agent."),
    STR(model,              .max = 256, .flags = F_REQUIRED, .doc = "Name of the LLM model."),
    INT(input_tokens,                   .absent = "0", .doc = "Input tokens."),
    INT(output_tokens,                  .absent = "0", .doc = "Output tokens."),
    INT(cache_read_tokens,              .absent = "0", .doc = "Input tokens that were read from a cache."),
    INT(cache_write_tokens,             .absent = "0", .doc = "Input tokens that were written to a cache."),
    INT(calls,                          .absent = "0", .doc = "Calls of the model."),
    STR(workflow_run_id,    .max = 256, .flags = F_NULL, .doc = "The workflow that the run is part of. Null: none."),
    OPT_BOOL(input_includes_cache,      .flags = F_NULL, .doc = "Whether the input tokens include those that were read from a cache or written to it. Null: as the price of the model says."));

SHAPE(llm_verdict, "LLMVerdict", (.doc = "Result of a usage report.",
      .example = EXAMPLE({"model": "gpt-5-mini"})),
    STR(status,    .flags = F_REQUIRED, .choices = verdicts, .doc = "accepted: stored; rejected: not stored."),
    UUID(run_id,   .flags = F_REQUIRED, .doc = "Identifies the run."),
    STR(model,     .flags = F_REQUIRED, .doc = "Name of the LLM model."),
    BOOL(replaced, .flags = F_REQUIRED, .doc = "Whether this report replaced an earlier one with other numbers, whose tokens no longer count."),
    STR(reason,    .flags = F_OMIT, .doc = "Why it was rejected."),
    STR(detail,    .flags = F_OMIT, .doc = "The reason as a sentence."));
/* clang-format on */
