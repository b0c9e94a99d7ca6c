/* shapes.h - the lines of an export that are not events (those are stored_event_shape's).
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "cli/command.h"
#include "shape/shape.h"

enum business_kind { BUSINESS_VALUE, BUSINESS_BREAKDOWN };

/* A KPI value of one run, or one cell of a breakdown. */
struct business_line {
    int kind; /* enum business_kind */
    struct str agent_name, agent_version, run_id;
    struct str workflow_run_id; /* null */
    int64_t timestamp, received_at;
    struct str key;
    struct str dimensions; /* T_OBJECT; null for a value */
    struct str value;      /* JSON text of a number or string */
};

struct llm_line {
    struct str agent_name, agent_version, run_id;
    struct str workflow_run_id; /* null */
    int64_t timestamp, received_at;
    struct str model;
    int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls;
    struct str cost_usd; /* null: no price */
    struct str price;
    struct opt_int price_id;
};

enum export_format { EXPORT_NDJSON, EXPORT_CSV };

enum { DAMAGED_FAIL, DAMAGED_SKIP };

struct export_query {
    int format;            /* enum export_format */
    struct str time_range; /* null: as the kind of export has it */
    int damaged;           /* DAMAGED_… */
    struct str run_id;     /* null; of events only */
};

extern const struct shape business_line_shape, llm_line_shape, export_query_shape,
    events_export_query_shape;

extern const struct command export_commands[];
