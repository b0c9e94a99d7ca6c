/* shapes.c - the shapes of run events and runs. */
#include "features/events/shapes.h"

#include "shape/table.h"
#include "shape/timerange.h"

const char *const run_event_names[] = { "started", "completed", "failed", "in_progress", NULL };
const char *const event_level_names[] = { "warning", "error", NULL };
const char *const run_status_names[] = { "in_progress", "completed", "failed", NULL };

static const char *const verdicts[] = { "accepted", "duplicate", "rejected", NULL };
static const char *const reasons[] = { "agent_disabled", "agent_cap_reached", NULL };

static const char *const run_order_names[] = { "started", "duration", "records", "events",
                                               "status",  "agent",    "version", "error",
                                               "tokens",  "cost",     NULL };

/* What run_cursor_format() writes. */
#define RUN_CURSOR_PATTERN "^[0-9A-Za-z]{11}[0-9a-f-]{36}[0-9A-Za-z]{6}$"

bool runs_query_is_sorted(const struct runs_query *query)
{
    return query->order != 0 || query->ascending;
}

static void check_runs(void *value, struct arena *arena, struct problems *problems)
{
    struct runs_query *q = value;

    rule_check_since_until(problems, arena, q->since, q->until, &q->range);
    if (q->untyped && !str_is_null(q->error_type))
        rule_refuse_text(problems, arena, "error_type", q->error_type, "Leave it out with untyped");
    q->after = RUN_CURSOR_TOP;
    if (!str_is_null(q->cursor) && !run_cursor_parse(q->cursor, &q->after))
        rule_refuse_text(problems, arena, "cursor", q->cursor,
                         "Should be the unchanged next of a page of runs");
    if (!str_is_null(q->cursor) && runs_query_is_sorted(q))
        rule_refuse_text(problems, arena, "cursor", q->cursor,
                         "A sorted list has no pages: leave out order and ascending");
}

static void check_narrative(void *value, struct arena *arena, struct problems *problems)
{
    struct narrative_query *q = value;

    q->after = q->from_end ? EVENT_PLACE_LAST : EVENT_PLACE_FIRST;
    if (!str_is_null(q->cursor) && !event_cursor_parse(q->cursor, &q->after))
        rule_refuse_text(problems, arena, "cursor", q->cursor,
                         "Should be the unchanged next of a page of events");
}

/* clang-format off */

/* For the event as sent, and for the stored event, whose members are always present (`always`). */
#define EVENT_ROWS(always) \
    STR(event_id,              .max = 256,   .flags = (always), .absent = "\"\"", .doc = "Makes retries idempotent."), \
    STR(agent_name,            .min = !(always), .max = 256, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."), \
    STR(agent_version,         .max = 256,   .flags = (always), .absent = "\"\"", .doc = "Version of the agent, as it reports it."), \
    STR(client_id,             .max = 256,   .flags = F_REQUIRED, .doc = "Tenant slug."), \
    UUID(run_id,                             .flags = F_REQUIRED, .doc = "Identical for every event of a run."), \
    ENUM(event,                              .flags = F_REQUIRED, .choices = run_event_names, .doc = "started opens the run, in_progress is a step of it, completed and failed close it."), \
    TIME(timestamp,                          .flags = F_REQUIRED, .doc = "When it happened, by the clock of the agent."), \
    OPT_INT(duration_ms,                     .flags = F_NULL | (always), .doc = "Normally sent on the closing event."), \
    OPT_INT(records_processed,               .flags = F_NULL | (always), .doc = "Normally sent on the closing event."), \
    STR(error_type,            .max = 256,   .flags = F_NULL | (always), .doc = "For failed."), \
    STR(error_message,         .max = 16384, .flags = F_NULL | (always), .doc = "For failed."), \
    DICT_STR(metadata,         .max = 100,   .flags = (always), .absent = "{}", .doc = "Free flat attributes."), \
    OBJECT(output,                           .flags = F_NULL | (always), .doc = "Nested payload."), \
    STR(workflow_run_id,       .max = 256,   .flags = F_NULL | (always), .doc = "Set when the run is part of a workflow."), \
    STR(message,               .max = 16384, .flags = (always), .absent = "\"\"", .doc = "Human description."), \
    STR(level,                 .max = 32,    .flags = (always), .absent = "\"info\"", \
      .doc = "debug, info, warning, error or success."), \
    STR(category,              .max = 256,   .flags = (always), .absent = "\"\"", .doc = "Phase or grouping of steps."), \
    STR(source,                .max = 256,   .flags = (always), .absent = "\"\"", .doc = "Code location, file:line."), \
    INT(seq,                                 .flags = (always), .absent = "0", .doc = "Order of the event within its run."), \
    DICT_NUM(metrics,          .max = 100,   .flags = (always), .absent = "{}", .doc = "Numeric measurements for charts."), \
    LIST_TEXT(links,           .max = 50,    .flags = (always), .absent = "[]", .doc = "External URLs or references.")

SHAPE(telemetry_event, "TelemetryEvent", (.doc = "One event of a run.",
      .example = EXAMPLE({"event_id": "6b1f-0003", "agent_name": "invoice-reader", "agent_version": "1.4.0", "client_id": "acme", "event": "in_progress", "message": "Invoice 17 of 42", "level": "info", "category": "read", "seq": 3, "metadata": {"mailbox": "billing"}, "metrics": {"pages": 2}})),
    EVENT_ROWS(0));

SHAPE(stored_event, "StoredEvent", (.doc = "An event as stored.",
      .example = EXAMPLE({"event_id": "6b1f-0003", "agent_name": "invoice-reader", "agent_version": "1.4.0", "client_id": "acme", "event": "in_progress", "message": "Invoice 17 of 42", "level": "info", "category": "read", "source": "reader.py:88", "seq": 3, "metadata": {"mailbox": "billing"}, "metrics": {"pages": 2}})),
    EMBEDDED(event, EVENT_ROWS(F_REQUIRED)),
    TIME(received_at,  .flags = F_REQUIRED, .doc = "When the service received it."),
    BOOL(clock_skewed, .flags = F_REQUIRED, .doc = "The timestamp was over an hour ahead of the service's clock."));

SHAPE(telemetry_batch, "TelemetryBatch", (.doc = "Any number of events, committed together."),
    LIST(events, telemetry_event_shape, .absent = "[]", .doc = "The events, in any order."));

SHAPE(event_verdict, "EventVerdict", (.doc = "Result of one event.",
      .example = EXAMPLE({"event_id": "6b1f-0003"})),
    STR(status,   .flags = F_REQUIRED, .choices = verdicts, .doc = "accepted: stored; duplicate: its event_id was stored before; rejected: not stored."),
    STR(event_id, .flags = F_REQUIRED, .doc = "The event as its sender identified it; empty if it did not."),
    UUID(run_id,  .flags = F_REQUIRED, .doc = "Identifies the run."),
    STR(reason,   .flags = F_OMIT, .choices = reasons, .doc = "Why it was rejected."),
    STR(detail,   .flags = F_OMIT, .doc = "The reason as a sentence."));

STATIC_SHAPE(batch_result, "BatchResult", (.doc = "Result of one event of a batch.",
      .example = EXAMPLE({"index": 0, "event_id": "6b1f-0003"})),
    INT(index,    .flags = F_REQUIRED, .doc = "Index of the event in the request, from 0."),
    STR(status,   .flags = F_REQUIRED, .choices = verdicts, .doc = "accepted: stored; duplicate: its event_id was stored before; rejected: not stored."),
    STR(event_id, .flags = F_REQUIRED, .doc = "The event as its sender identified it; empty if it did not."),
    STR(reason,   .flags = F_OMIT, .choices = reasons, .doc = "Why it was rejected."));

SHAPE(batch_verdict, "BatchVerdict", (.doc = "Results of a batch.",
      .example = EXAMPLE({"accepted": 1, "duplicates": 0, "rejected": 0})),
    INT(accepted,   .flags = F_REQUIRED, .doc = "Number of events stored."),
    INT(duplicates, .flags = F_REQUIRED, .doc = "Number of events that were stored before."),
    INT(rejected,   .flags = F_REQUIRED, .doc = "Number of events that were refused."),
    LIST(results, batch_result_shape, .flags = F_REQUIRED, .doc = "One per event, in request order."));

/* A run alone, and a run in a list. */
#define RUN_ROWS \
    UUID(run_id,               .flags = F_REQUIRED, .doc = "Identifies the run."), \
    STR(agent_name,            .flags = F_REQUIRED, .doc = "The agent that started the run; of its first stored event until one has."), \
    STR(agent_version,         .flags = F_REQUIRED, .doc = "The latest non-empty one."), \
    STR(workflow_run_id,       .flags = F_REQUIRED | F_NULL, .doc = "The workflow that the run is part of. Null: none."), \
    STR(status,                .flags = F_REQUIRED, .choices = run_status_names, .doc = "in_progress until a closing event arrives, then as that event says."), \
    TIME(started_at,           .flags = F_REQUIRED, .doc = "When the run started."), \
    TIME(ended_at,             .flags = F_REQUIRED | F_NULL, .doc = "When the run ended. Null: it is open."), \
    OPT_INT(duration_ms,       .flags = F_REQUIRED | F_NULL, .doc = "Duration in milliseconds. Null: not known."), \
    OPT_INT(records_processed, .flags = F_REQUIRED | F_NULL, .doc = "Records that the run processed. Null: not reported."), \
    STR(error_type,            .flags = F_REQUIRED | F_NULL, .doc = "Type of the error of a failed run."), \
    STR(error_message,         .flags = F_REQUIRED | F_NULL, .doc = "Message of the error of a failed run."), \
    STR(message,               .flags = F_REQUIRED, .doc = "From the closing event, or else the latest step, or else from `started`: the first of these with a message."), \
    INT(event_count,           .flags = F_REQUIRED, .doc = "Number of stored events."), \
    TIME(last_event_at,        .flags = F_REQUIRED, .doc = "Timestamp of the latest event.")

SHAPE(run_summary, "Run", (.doc = "A run as derived from its events.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "status": "completed", "started_at": "2026-01-15T09:30:00Z", "ended_at": "2026-01-15T09:31:12Z", "duration_ms": 72000, "records_processed": 42, "message": "42 invoices read", "event_count": 5, "last_event_at": "2026-01-15T09:31:12Z"})),
    RUN_ROWS);

STATIC_SHAPE(run_listed, "RunListItem", (.doc = "A run, with its steps if requested.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "status": "completed", "started_at": "2026-01-15T09:30:00Z", "ended_at": "2026-01-15T09:31:12Z", "duration_ms": 72000, "records_processed": 42, "message": "42 invoices read", "event_count": 5, "last_event_at": "2026-01-15T09:31:12Z"})),
    EMBEDDED(run, RUN_ROWS),
    LIST(steps, stored_event_shape, .flags = F_OMIT, .doc = "With include_steps: the run's in_progress events."),
    STR(steps_next, .flags = F_OMIT, .doc = "Only when the run has more steps than a page holds: cursor of its events after these."),
    OPT_INT(tokens, .flags = F_OMIT, .doc = "With include_cost: the tokens of all models that the run used. Absent: none were reported."),
    STR(cost, .flags = F_OMIT, .doc = "With include_cost: what they cost in US dollars, as a decimal. Absent: no token has a price."),
    OPT_INT(damaged, .flags = F_OMIT, .doc = "Steps left out because they do not match their checksums. Absent: none."));

SHAPE(run_list, "RunList", (.doc = "A page of runs.",
      .example = EXAMPLE({"next": "0086AtWLjM03f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b06xuaQ"})),
    LIST(runs, run_listed_shape, .flags = F_REQUIRED, .doc = "Newest start first."),
    STR(next, .pattern = RUN_CURSOR_PATTERN, .flags = F_REQUIRED | F_NULL, .doc = "Cursor of the next page; a short page may have one too. Null: last page."),
    TIME(examined_since, .flags = F_OMIT, .doc = "Only of a sorted list that is not made of all matching runs: the start of the oldest run that was examined."));

SHAPE(run_narrative, "RunNarrative", (.doc = "A run and its events, or a page of them.",
      .example = EXAMPLE({"next": null})),
    NESTED(run, struct run_summary, run_summary_shape, .flags = F_REQUIRED, .doc = "The run."),
    LIST(events, stored_event_shape, .flags = F_REQUIRED, .doc = "Ordered by seq, timestamp and arrival."),
    STR(next, .flags = F_NULL | F_OMIT_EMPTY, .doc = "Cursor of the next page; null on the last one. Left out when neither limit nor cursor is given and these are all events."),
    OPT_INT(damaged, .flags = F_OMIT, .doc = "Events of this page left out because they do not match their checksums; `muster check` names them. Absent: none."));

#define RUN_RANGE_ROWS \
    STR(since,           .pattern = MOMENT_PATTERN, .flags = F_NULL, .doc = "Runs that started at or after this: a date-time, or a span back from now (90m, 24h, 7d, 4w)."), \
    STR(until,           .pattern = MOMENT_PATTERN, .flags = F_NULL, .doc = "Runs that started before this: a date-time, or a span back from now.")
#define RUN_FILTER_ROWS \
    STR(agent_name,      .flags = F_NULL, .doc = "Only runs of this agent."), \
    ENUM(status,         .flags = F_NULL, .choices = run_status_names, .doc = "Only runs with this status."), \
    STR(workflow_run_id, .flags = F_NULL, .doc = "Only runs of this workflow."), \
    STR(agent_version,   .flags = F_NULL, .max = 256, .doc = "Only runs of this version of their agent."), \
    STR(error_type,      .flags = F_NULL, .max = 256, .doc = "Only runs that failed with this type of error."), \
    BOOL(untyped,        .absent = "false", .doc = "Only runs that failed without a type of error."), \
    STR(q,               .flags = F_NULL, .min = 1, .max = 64, .doc = "Only runs with this text in the agent's name, the error or the first 1,000 characters of a message; ASCII letters match in any case, with PostgreSQL all letters.")

SHAPE(runs_query, "RunsQuery", (.rules = check_runs,
      .example = EXAMPLE({"status": "failed"})),
    BOOL(include_steps,  .absent = "false", .doc = "Adds the in_progress events."),
    BOOL(include_cost,   .absent = "false", .doc = "Adds tokens and cost of all that was reported with the run's id."),
    RUN_RANGE_ROWS,
    INT(limit,           .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(cursor,          .pattern = RUN_CURSOR_PATTERN, .flags = F_NULL, .doc = "The next of the previous page."),
    RUN_FILTER_ROWS,
    ENUM(order,          .absent = "\"started\"", .choices = run_order_names, .doc = "What the list is sorted by, descending. Any order but the newest first sorts the newest 10,000 runs of the range (with q: 2,000), and has no pages."),
    BOOL(ascending,      .absent = "false", .doc = "The other direction."));

SHAPE_TABLE(, run_facets_query_shape, struct runs_query, "RunFacetsQuery", (.rules = check_runs,
      .example = EXAMPLE({"status": "failed"})),
    RUN_RANGE_ROWS,
    RUN_FILTER_ROWS);

STATIC_SHAPE(facet_value, "FacetValue", (.doc = "A value of a filter.",
      .example = EXAMPLE({"value": "UpstreamTimeout", "runs": 41})),
    STR(value, .flags = F_REQUIRED, .doc = "What the filter can be set to."),
    INT(runs,  .flags = F_REQUIRED, .doc = "Runs with this value that the other filters leave."));

SHAPE(run_facets, "RunFacets", (.doc = "Numbers of runs by the values of each filter.",
      .example = EXAMPLE({"runs": 41, "counted_since": null, "examined_since": null, "others_since": null, "newest_at": "2026-01-15T09:30:00Z", "untyped": 2})),
    INT(runs,                                .flags = F_REQUIRED, .doc = "Runs that match all filters."),
    TIME(counted_since,                      .flags = F_REQUIRED | F_NULL, .doc = "For runs and status, only runs that started since then were counted: the newest 100,000 of the range, with q 2,000. Null: all."),
    TIME(examined_since,                     .flags = F_REQUIRED | F_NULL, .doc = "The same for the values of the other filters: the newest 10,000, with q 2,000."),
    TIME(others_since,                       .flags = F_REQUIRED | F_NULL, .doc = "The same for what could be chosen instead of the chosen agent_name, or workflow_run_id if one is chosen."),
    TIME(newest_at,                          .flags = F_REQUIRED | F_NULL, .doc = "When the newest of the counted runs started."),
    LIST(status, facet_value_shape,          .flags = F_REQUIRED, .doc = "By status."),
    LIST(agent_name, facet_value_shape,      .flags = F_REQUIRED, .doc = "By agent; the 20 most frequent, and the chosen one."),
    LIST(agent_version, facet_value_shape,   .flags = F_REQUIRED, .doc = "By version, the same way."),
    LIST(error_type, facet_value_shape,      .flags = F_REQUIRED, .doc = "By type of error, the same way."),
    INT(untyped,                             .flags = F_REQUIRED, .doc = "Runs that failed without a type of error, counted like one."),
    LIST(workflow_run_id, facet_value_shape, .flags = F_REQUIRED, .doc = "By workflow, the same way."));

SHAPE(narrative_query, "NarrativeQuery", (.rules = check_narrative),
    OPT_INT(limit, .flags = F_NULL, .least = 1, .most = 10000, .doc = "Events per page. Left out: all that fit in 16 MiB."),
    STR(cursor,    .pattern = "^[0-9A-Za-z]{39}$", .flags = F_NULL, .doc = "The next of the previous page."),
    BOOL(from_end, .absent = "false", .doc = "The last events of the run, and with the next of that page as cursor those before them. Each page has its events in the order of the run."),
    STR(q,         .flags = F_NULL, .min = 1, .max = 64, .doc = "Only events with this text in the first 1,000 characters of their message, error, category or source; ASCII letters match in any case, with PostgreSQL all letters."),
    ENUM(level,    .flags = F_NULL, .choices = event_level_names, .doc = "warning: only warnings and errors; error: only errors, which are events of level error or critical and those with which a run failed."),
    STR(category,  .flags = F_NULL, .max = 256, .doc = "Only events of this category; empty: those without one."));

STATIC_SHAPE(timeline_tick, "TimelineTick", (.doc = "Events of a category within a 200th of the time of the run.",
      .example = EXAMPLE({"events": 512, "errors": 1})),
    TIME(at,    .flags = F_REQUIRED, .doc = "When its first event happened."),
    INT(events, .flags = F_REQUIRED, .doc = "Events close to each other."),
    INT(errors, .flags = F_REQUIRED, .doc = "How many of them are errors."));

STATIC_SHAPE(timeline_lane, "TimelineLane", (.doc = "One category of a run.",
      .example = EXAMPLE({"category": "fetch", "events": 512, "errors": 1, "warnings": 3})),
    STR(category,                   .flags = F_REQUIRED, .doc = "As the events name it; empty: events without one."),
    INT(events,                     .flags = F_REQUIRED, .doc = "Its events."),
    INT(errors,                     .flags = F_REQUIRED, .doc = "How many of them are errors."),
    INT(warnings,                   .flags = F_REQUIRED, .doc = "How many of them are warnings."),
    TIME(first_at,                  .flags = F_REQUIRED, .doc = "When its first event happened."),
    TIME(last_at,                   .flags = F_REQUIRED, .doc = "When its last event happened."),
    LIST(ticks, timeline_tick_shape, .flags = F_REQUIRED, .doc = "At most 200, in the order of time."));

SHAPE(run_timeline, "RunTimeline", (.doc = "When each category of a run was active.",
      .example = EXAMPLE({"events": 512, "errors": 1, "warnings": 3, "other_events": 0})),
    INT(events,                      .flags = F_REQUIRED, .doc = "Events that were counted: of a longer run the first 200,000 that arrived."),
    INT(errors,                      .flags = F_REQUIRED, .doc = "How many of them are errors."),
    INT(warnings,                    .flags = F_REQUIRED, .doc = "How many of them are warnings."),
    LIST(lanes, timeline_lane_shape, .flags = F_REQUIRED, .doc = "The first 24 categories, in the order of their first events."),
    INT(other_events,                .flags = F_REQUIRED, .doc = "Events of further categories."));

SHAPE(run_path, "RunPath", (.example = EXAMPLE({"slug": "acme", "run_id": "0b8f7a52-4c1e-4f0a-9d53-6a2e8c1f7b90"})),
    STR(slug,    .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    UUID(run_id, .flags = F_REQUIRED, .doc = "Identifies the run."));

SHAPE(rebuild_query, "RebuildQuery", (.doc = "Where to continue the rebuild."),
    INT(after, .absent = "0", .least = 0, .most = INT64_MAX, .doc = "The next of the previous page; 0 to begin."));

SHAPE(runs_rebuild, "RunsRebuild", (.doc = "Result of rebuilding one page of run states.",
      .example = EXAMPLE({"runs": 500, "changed": 2, "damaged": 0, "next": 731})),
    INT(runs,     .flags = F_REQUIRED, .doc = "Runs checked on this page."),
    INT(changed,  .flags = F_REQUIRED, .doc = "Runs whose state differed from their events and was corrected."),
    INT(damaged,  .flags = F_REQUIRED, .doc = "Runs left as they are, because an event of theirs does not match its checksum."),
    OPT_INT(next, .flags = F_REQUIRED | F_NULL, .doc = "Value of after for the next page. Null: done."));
/* clang-format on */
