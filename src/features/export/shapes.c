/* shapes.c - the shapes of export lines. */
#include "features/export/shapes.h"

#include "shape/table.h"
#include "shape/timerange.h"

static const char *const export_formats[] = { "ndjson", "csv", NULL };
static const char *const damaged_rows[] = { "fail", "skip", NULL };
static const char *const kinds[] = { "value", "breakdown", NULL };

/* clang-format off */
SHAPE(business_line, "BusinessLine", (.doc = "One line of a business KPI export.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "key": "invoices", "value": 42})),
    ENUM(kind,           .flags = F_REQUIRED, .choices = kinds, .doc = "A KPI value of a run, or one cell of a breakdown."),
    STR(agent_name,      .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(agent_version,   .flags = F_REQUIRED, .doc = "Version of the agent, as it reports it."),
    UUID(run_id,         .flags = F_REQUIRED, .doc = "Identifies the run."),
    STR(workflow_run_id, .flags = F_REQUIRED | F_NULL, .doc = "The workflow that the run is part of. Null: none."),
    TIME(timestamp,      .flags = F_REQUIRED, .doc = "Timestamp of the report."),
    TIME(received_at,    .flags = F_REQUIRED, .doc = "When the service received it."),
    STR(key,             .flags = F_REQUIRED, .doc = "Key of the KPI."),
    OBJECT(dimensions,   .flags = F_REQUIRED | F_NULL, .doc = "Dimensions of the cell. Null for a value."),
    JSON(value,          .flags = F_REQUIRED, .doc = "A number or a string."));

SHAPE(llm_line, "LLMLine", (.doc = "One line of an LLM usage export.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "model": "gpt-5-mini", "input_tokens": 18000, "output_tokens": 2400, "cache_read_tokens": 6000, "cache_write_tokens": 0, "calls": 12, "cost_usd": "0.00795", "price": "gpt-5-mini", "price_id": 7})),
    STR(agent_name,         .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(agent_version,      .flags = F_REQUIRED, .doc = "Version of the agent, as it reports it."),
    UUID(run_id,            .flags = F_REQUIRED, .doc = "Identifies the run."),
    STR(workflow_run_id,    .flags = F_REQUIRED | F_NULL, .doc = "The workflow that the run is part of. Null: none."),
    TIME(timestamp,         .flags = F_REQUIRED, .doc = "Timestamp of the report."),
    TIME(received_at,       .flags = F_REQUIRED, .doc = "When the service received it."),
    STR(model,              .flags = F_REQUIRED, .doc = "Name of the LLM model."),
    INT(input_tokens,       .flags = F_REQUIRED, .doc = "Input tokens."),
    INT(output_tokens,      .flags = F_REQUIRED, .doc = "Output tokens."),
    INT(cache_read_tokens,  .flags = F_REQUIRED, .doc = "Input tokens that were read from a cache."),
    INT(cache_write_tokens, .flags = F_REQUIRED, .doc = "Input tokens that were written to a cache."),
    INT(calls,              .flags = F_REQUIRED, .doc = "Calls of the model."),
    STR(cost_usd,           .flags = F_REQUIRED | F_NULL, .doc = "What they cost, USD, as a decimal. Null: there is no price."),
    STR(price,              .flags = F_REQUIRED, .doc = "Model of the price that applied, or 'no price'."),
    OPT_INT(price_id,       .flags = F_REQUIRED | F_NULL, .doc = "The price that applied, by its id in the list of prices. Null: there is none."));

SHAPE(export_query, "ExportQuery", (.row_rules = true),
    ENUM(format,    .absent = "\"ndjson\"", .choices = export_formats, .doc = "One JSON object per line, or CSV with a head line."),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"30d\"", .doc = TIME_RANGE_DOC),
    ENUM(damaged,   .absent = "\"fail\"", .choices = damaged_rows, .doc = "What to do at a row that does not match its checksum: end there, without the last chunk, or leave it out."));

SHAPE_TABLE(, events_export_query_shape, struct export_query, "EventsExportQuery", (.row_rules = true),
    ENUM(format,    .absent = "\"ndjson\"", .choices = export_formats, .doc = "One JSON object per line, or CSV with a head line."),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .flags = F_NULL, .doc = TIME_RANGE_DOC " Left out: 30d, or with run_id all."),
    UUID(run_id,    .flags = F_NULL, .doc = "Only the events of this run."),
    ENUM(damaged,   .absent = "\"fail\"", .choices = damaged_rows, .doc = "What to do at a row that does not match its checksum: end there, without the last chunk, or leave it out."));
/* clang-format on */
