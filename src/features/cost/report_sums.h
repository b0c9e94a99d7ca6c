/* report_sums.h - the checksum of stored LLM usage (db/row_sum.h). */
#pragma once
#include "db/row_sum.h"
#include "features/access/stored_bytes.h"

/* The columns that it covers, and the checksum; `t` is the table's alias with a dot, or empty. */
#define USAGE_SUMMED(t)                                                                            \
    t "tenant_id, " t "timestamp, " t "agent_id, " t "run_id, " t "model, " t "received_at, " t    \
      "input_tokens, " t "output_tokens, " t "cache_read_tokens, " t "cache_write_tokens, " t      \
      "calls, " t "agent_version, " t "workflow_run_id, " t "checksum"

/* What a usage counts for its tenant (access/stored_bytes.h), in SQL. */
#define USAGE_BYTES(text)                                                                          \
    STORED_ROW text("run_id") text("model") text("agent_version") text("workflow_run_id")

/* Where to find them in such a row. */
enum {
    USAGE_AT_TIMESTAMP = 1,
    USAGE_AT_AGENT,
    USAGE_AT_RUN_ID,
    USAGE_AT_MODEL,
    USAGE_AT_RECEIVED,
    USAGE_AT_COUNTS, /* five columns */
    USAGE_AT_VERSION = 11,
    USAGE_AT_WORKFLOW,
    USAGE_AT_NEXT = 14, /* what follows them */
};

extern const struct row_sum llm_usage_sum;
