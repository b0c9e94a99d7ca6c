/* report_shapes.h - the tokens that a run used of a model.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct llm_usage {
    struct str agent_name, agent_version, client_id, run_id;
    int64_t timestamp;
    struct str model;
    int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls;
    struct str workflow_run_id; /* null */
    struct opt_bool input_includes_cache;
};

struct llm_verdict {
    struct str status; /* accepted, rejected */
    struct str run_id, model;
    bool replaced;             /* an earlier report */
    struct str reason, detail; /* null (left out) unless rejected */
};

extern const struct shape llm_usage_shape, llm_verdict_shape;
