/* shapes.c - the shapes of agents and workflows, as front ends read them. */
#include "features/fleet/shapes.h"

#include "base/clock.h"
#include "features/agents/schedules/schedules.h"
#include "features/agents/shapes.h"
#include "features/events/shapes.h"
#include "shape/table.h"
#include "shape/timerange.h"

const char *const agents_order_names[] = { "name", "trouble", "agent", "last_seen", NULL };

static const int64_t totals_most_us = 400LL * 24 * 3600 * USEC_PER_SEC;

static void check_totals(void *value, struct arena *arena, struct problems *problems)
{
    struct run_totals_query *q = value;
    const char *problem = timerange_parse(q->time_range, clock_wall_us(), &q->range);

    if (problem == NULL &&
        (q->range.since == TIME_NULL || q->range.until - q->range.since > totals_most_us))
        problem = "Should be at most 400 days";
    if (problem != NULL)
        rule_refuse_text(problems, arena, "time_range", q->time_range, problem);
}

static void check_workflows(void *value, struct arena *arena, struct problems *problems)
{
    struct workflows_query *q = value;

    rule_check_since_until(problems, arena, q->since, q->until, &q->range);
}

/* clang-format off */
SHAPE(run_totals_query, "RunTotalsQuery", (.rules = check_totals),
    STR(time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"7d\"", .doc = TIME_RANGE_DOC),
    STR(agent_name, .flags = F_NULL, .doc = "Only runs of this agent, with their durations."));

SHAPE(run_period, "RunPeriod", (.doc = "The runs that started in an hour or a day.",
      .example = EXAMPLE({"t": "2026-01-15T00:00:00Z", "completed": 118, "failed": 3, "in_progress": 1, "p50_ms": 41000, "p95_ms": 72000})),
    TIME(t,          .flags = F_REQUIRED, .doc = "When the hour or day begins, in UTC."),
    INT(completed,   .flags = F_REQUIRED, .doc = "Runs that completed."),
    INT(failed,      .flags = F_REQUIRED, .doc = "Runs that failed."),
    INT(in_progress, .flags = F_REQUIRED, .doc = "Runs that are open."),
    OPT_INT(p50_ms,  .flags = F_REQUIRED | F_NULL, .doc = "Median duration of those that ended. Null: none ended, or no agent was named."),
    OPT_INT(p95_ms,  .flags = F_REQUIRED | F_NULL, .doc = "95th percentile of the durations of those that ended. Null: as for p50_ms."));

SHAPE(error_total, "ErrorTotal", (.doc = "Failed runs of one error type.",
      .example = EXAMPLE({"error_type": "UpstreamTimeout", "runs": 3, "last_at": "2026-01-15T09:31:12Z"})),
    STR(error_type, .flags = F_REQUIRED, .doc = "Empty: the runs named none."),
    INT(runs,       .flags = F_REQUIRED, .doc = "Failed runs."),
    TIME(last_at,   .flags = F_REQUIRED, .doc = "When the last of them started."));

SHAPE(run_totals, "RunTotals", (.doc = "Runs and failures over time.",
      .example = EXAMPLE({"bucket": "day", "truncated": false, "counted_since": null})),
    STR(bucket,                     .flags = F_REQUIRED, .choices = bucket_names, .doc = "hour for at most two days, else day."),
    LIST(periods, run_period_shape, .flags = F_REQUIRED, .doc = "All from the one that holds the beginning, oldest first. Only runs that started in the range count, so the first and the last may be parts of an hour or day."),
    LIST(errors, error_total_shape, .flags = F_REQUIRED, .doc = "The ten most frequent."),
    BOOL(truncated,                 .flags = F_REQUIRED, .doc = "Only the newest 100,000 runs were counted, or of an agent the newest 20,000."),
    TIME(counted_since,             .flags = F_REQUIRED | F_NULL, .doc = "When truncated: only runs that started since then were counted. Null: all."));

SHAPE(agents_query, "AgentsQuery", (),
    INT(limit,         .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(cursor,        .flags = F_NULL, .doc = "The next of the previous page, by name."),
    ENUM(order,        .absent = "\"name\"", .choices = agents_order_names, .doc = "trouble: silent, late, never_reported, up, unscheduled, disabled; by name within a state. agent: by name, too. last_seen: the latest first, and at the end by name those that were never seen. Of these three, pages go by offset, and the answer has counts."),
    BOOL(reverse,      .absent = "false", .doc = "With order agent or last_seen: the other direction. Agents that were never seen stay at the end."),
    INT(offset,        .absent = "0", .least = 0, .most = 10000000, .doc = "With any order but name: agents before the page."),
    ENUM(state,        .flags = F_NULL, .choices = liveness_names, .doc = "Only agents in this state."),
    STR(q,             .max = 256, .flags = F_NULL, .doc = "Part of the name; ASCII letters match in either case."),
    BOOL(include_runs, .absent = "false", .doc = "Adds recent_runs."));

STATIC_SHAPE(agent_run, "AgentRun", (.doc = "A run in short.",
      .example = EXAMPLE({"status": "completed", "started_at": "2026-01-15T09:30:00Z", "ended_at": "2026-01-15T09:31:12Z", "duration_ms": 72000})),
    UUID(run_id,         .flags = F_REQUIRED, .doc = "Identifies the run."),
    STR(status,          .flags = F_REQUIRED, .choices = run_status_names, .doc = "in_progress until a closing event arrives, then as that event says."),
    TIME(started_at,     .flags = F_REQUIRED, .doc = "When the run started."),
    TIME(ended_at,       .flags = F_REQUIRED | F_NULL, .doc = "When the run ended. Null: it is open."),
    OPT_INT(duration_ms, .flags = F_REQUIRED | F_NULL, .doc = "Duration in milliseconds. Null: not known."));

/* Fields of an agent, in a list and alone. */
#define AGENT_ROWS \
    STR(agent_name,                               .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."), \
    STR(agent_version,                            .flags = F_REQUIRED, .doc = "From the newest run, or from a later registration."), \
    STR(description,                              .flags = F_REQUIRED, .doc = "In lists, only the first 1,024 characters."), \
    BOOL(enabled,                                 .flags = F_REQUIRED, .doc = "Whether the agent may report."), \
    STR(state,                                    .flags = F_REQUIRED, .choices = liveness_names, .doc = "Whether the agent reports as often as it should."), \
    OPT_INT(interval_seconds,                     .flags = F_REQUIRED | F_NULL, .doc = "Expected run cadence, as the agent declares it."), \
    NESTED(schedule, struct agent_schedule, agent_schedule_shape, .flags = F_REQUIRED | F_NULL, .doc = "When the agent is expected to report. Null: it has no schedule."), \
    TIME(first_seen_at,                           .flags = F_REQUIRED, .doc = "When the agent first reported or registered."), \
    TIME(last_seen_at,                            .flags = F_REQUIRED | F_NULL, .doc = "When the service last received anything from the agent."), \
    TIME(next_expected_at,                        .flags = F_REQUIRED | F_NULL, .doc = "The agent is late after this."), \
    TIME(silent_at,                               .flags = F_REQUIRED | F_NULL, .doc = "The agent is silent after this."), \
    TIME(maintenance_until,                       .flags = F_REQUIRED | F_NULL, .doc = "A maintenance window is open until then: no alert of a silent agent opens."), \
    TIME(registered_at,                           .flags = F_REQUIRED | F_NULL, .doc = "When the agent last registered."), \
    TIME(muted_until,                             .flags = F_REQUIRED | F_NULL, .doc = "The agent's alerts are muted until then."), \
    INT(open_runs,                                .flags = F_REQUIRED, .doc = "Runs in progress among the newest 20."), \
    NESTED(last_run, struct agent_run, agent_run_shape, .flags = F_REQUIRED | F_NULL, .doc = "The run that started last."), \
    LIST(recent_runs, agent_run_shape,            .flags = F_OMIT, .doc = "With include_runs: the newest 20 runs, newest start first.")

STATIC_SHAPE(agent_listed, "AgentListItem", (.doc = "An agent and how it is doing.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "description": "Reads invoices from the mailbox", "enabled": true, "state": "up", "interval_seconds": 3600, "first_seen_at": "2026-01-02T08:00:00Z", "last_seen_at": "2026-01-15T09:31:12Z", "next_expected_at": "2026-01-15T10:31:12Z", "silent_at": "2026-01-15T11:31:12Z", "maintenance_until": null, "registered_at": "2026-01-15T08:00:00Z", "muted_until": null, "open_runs": 0})),
    AGENT_ROWS);

STATIC_SHAPE(agent_counts, "AgentCounts", (.doc = "Agents by state.",
      .example = EXAMPLE({"up": 9, "late": 1, "silent": 1, "unscheduled": 1, "never_reported": 0, "disabled": 0})),
    INT(up,             .flags = F_REQUIRED, .doc = "They report as expected."),
    INT(late,           .flags = F_REQUIRED, .doc = "They should have reported."),
    INT(silent,         .flags = F_REQUIRED, .doc = "They are later than their grace allows."),
    INT(unscheduled,    .flags = F_REQUIRED, .doc = "They report, and have no schedule, or one that is paused."),
    INT(never_reported, .flags = F_REQUIRED, .doc = "They were only registered."),
    INT(disabled,       .flags = F_REQUIRED, .doc = "Their reports are rejected."));

SHAPE(agent_list, "AgentList", (.doc = "A page of agents."),
    LIST(agents, agent_listed_shape, .flags = F_REQUIRED, .doc = "In the order that was asked for; names by their bytes."),
    STR(next,                        .flags = F_REQUIRED | F_NULL, .doc = "Cursor of the next page. Null: last page, or any order but name."),
    NESTED(counts, struct agent_counts, agent_counts_shape, .flags = F_OMIT | F_NULL, .doc = "With any order but name: all agents whose name matches, by state."));

STATIC_SHAPE(agent_version, "AgentVersion", (.doc = "A version that runs reported.",
      .example = EXAMPLE({"agent_version": "1.4.0", "runs": 118})),
    STR(agent_version, .flags = F_REQUIRED, .doc = "The version."),
    INT(runs,          .flags = F_REQUIRED, .doc = "Number of counted runs with it."),
    TIME(first_run_at, .flags = F_REQUIRED, .doc = "When the earliest of them started."),
    TIME(last_run_at,  .flags = F_REQUIRED, .doc = "When the latest of them started."));

STATIC_SHAPE(run_counts, "RunCounts", (.doc = "An agent's newest runs by status.",
      .example = EXAMPLE({"runs": 320, "in_progress": 1, "completed": 311, "failed": 8, "counted_since": null, "newest_at": "2026-01-15T09:30:00Z", "median_duration_ms": 70400})),
    INT(runs,                   .flags = F_REQUIRED, .doc = "Number of runs counted: at most the newest 1,000."),
    INT(in_progress,            .flags = F_REQUIRED, .doc = "Open runs."),
    INT(completed,              .flags = F_REQUIRED, .doc = "Runs that completed."),
    INT(failed,                 .flags = F_REQUIRED, .doc = "Runs that failed."),
    TIME(counted_since,         .flags = F_REQUIRED | F_NULL, .doc = "Only runs that started since then are counted. Null: all."),
    TIME(newest_at,             .flags = F_REQUIRED | F_NULL, .doc = "When the newest of them started. Null: there are no runs."),
    OPT_INT(median_duration_ms, .flags = F_REQUIRED | F_NULL, .doc = "Median over the runs that ended."));

SHAPE(agent_detail, "Agent", (.doc = "All that is known of an agent.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "description": "Reads invoices from the mailbox", "enabled": true, "state": "up", "interval_seconds": 3600, "first_seen_at": "2026-01-02T08:00:00Z", "last_seen_at": "2026-01-15T09:31:12Z", "next_expected_at": "2026-01-15T10:31:12Z", "silent_at": "2026-01-15T11:31:12Z", "maintenance_until": null, "registered_at": "2026-01-15T08:00:00Z", "muted_until": null, "open_runs": 0, "telemetry_doc": "One run per mailbox and hour", "last_model": "gpt-5-mini", "last_model_at": "2026-01-15T09:31:10Z"})),
    EMBEDDED(agent, AGENT_ROWS),
    STR(telemetry_doc,                           .flags = F_REQUIRED, .doc = "Free text on what the agent reports."),
    LIST(business_kpis, business_kpi_decl_shape, .flags = F_REQUIRED, .doc = "Ordered by the bytes of the key."),
    LIST(inputs, io_field_shape,                 .flags = F_REQUIRED, .doc = "Input contract."),
    LIST(outputs, io_field_shape,                .flags = F_REQUIRED, .doc = "Output contract."),
    NESTED(config_schema, struct config_schema_decl, config_schema_decl_shape, .flags = F_REQUIRED | F_NULL, .doc = "Configuration the agent needs. Null: it declares none."),
    LIST(versions, agent_version_shape,          .flags = F_REQUIRED, .doc = "Versions of the counted runs, newest first."),
    NESTED(counts, struct run_counts, run_counts_shape, .flags = F_REQUIRED, .doc = "The newest runs by status."),
    NESTED(model, struct agent_model, agent_model_shape, .flags = F_REQUIRED, .doc = "As sent to the agent."),
    STR(last_model,                              .flags = F_REQUIRED | F_NULL, .doc = "The model that it last reported tokens of: of its reports of the last 30 days (UTC) the newest. Null: it has none."),
    TIME(last_model_at,                          .flags = F_REQUIRED | F_NULL, .doc = "The time of that report."),
    NESTED(command_policy, struct command_policy, command_policy_shape, .flags = F_REQUIRED, .doc = "As sent to the agent."));

STATIC_SHAPE(type_mismatch, "TypeMismatch", (.doc = "An output and an input of the same key with different types.",
      .example = EXAMPLE({"key": "invoice", "output_type": "text", "input_type": "json"})),
    STR(key,         .flags = F_REQUIRED, .doc = "Key of the field."),
    STR(output_type, .flags = F_REQUIRED, .doc = "Type that the earlier step declares."),
    STR(input_type,  .flags = F_REQUIRED, .doc = "Type that the later step declares."));

STATIC_SHAPE(workflow_step, "WorkflowStep", (.doc = "A run of a workflow.",
      .example = EXAMPLE({"agent_name": "invoice-reader"})),
    UUID(run_id,    .flags = F_REQUIRED, .doc = "Identifies the run."),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."));

STATIC_SHAPE(workflow_link, "WorkflowLink", (.doc = "Whether the earlier steps output what the later run's agent needs.",
      .example = EXAMPLE({"compatible": false})),
    NESTED(from, struct workflow_step, workflow_step_shape, .flags = F_REQUIRED, .doc = "The earlier run."),
    NESTED(to, struct workflow_step, workflow_step_shape,   .flags = F_REQUIRED, .doc = "The later run."),
    OPT_BOOL(compatible,                                   .flags = F_REQUIRED | F_NULL, .doc = "Null: one side declares nothing."),
    LIST_STR(missing,                                      .flags = F_REQUIRED, .doc = "Required inputs that no earlier step outputs."),
    LIST(mismatched, type_mismatch_shape,                  .flags = F_REQUIRED, .doc = "Fields whose types differ."),
    LIST_STR(provides,                                     .flags = F_REQUIRED, .doc = "Inputs of the later run that the earlier run's agent outputs."));

SHAPE(workflow, "Workflow", (.doc = "The runs of a workflow.",
      .example = EXAMPLE({"workflow_run_id": "month-end-2026-01", "status": "completed", "ended_at": "2026-01-15T09:31:12Z"})),
    STR(workflow_run_id,            .flags = F_REQUIRED, .doc = "Identifies the workflow."),
    STR(status,                     .flags = F_REQUIRED, .choices = run_status_names, .doc = "failed if any run failed, else in_progress if any is open, else completed."),
    TIME(started_at,                .flags = F_REQUIRED, .doc = "When the first run started."),
    TIME(ended_at,                  .flags = F_REQUIRED | F_NULL, .doc = "When the last run ended, once no run is open."),
    LIST(runs, run_summary_shape,   .flags = F_REQUIRED, .doc = "Earliest start first."),
    LIST(links, workflow_link_shape, .flags = F_REQUIRED, .doc = "From runs to those that follow them; parallel runs are not linked."),
    BOOL(truncated,                 .flags = F_REQUIRED, .doc = "There are more runs than listed: at most the first 1,000 are. status and ended_at are of these and of the newest 1,000."),
    BOOL(links_truncated,           .flags = F_REQUIRED, .doc = "Links to the latest runs are left out: at most 5,000 are listed, and after a million comparisons of an input with an earlier run no further run is linked. Up to the last run that a link leads to, the links are complete; those listed after it may follow others, too."));

SHAPE(workflows_query, "WorkflowsQuery", (.rules = check_workflows),
    STR(since, .pattern = MOMENT_PATTERN, .flags = F_NULL, .doc = "Workflows with a run that started at or after this: a date-time, or a span back from now (90m, 24h, 7d, 4w)."),
    STR(until, .pattern = MOMENT_PATTERN, .flags = F_NULL, .doc = "The same before this: a date-time, or a span back from now."),
    INT(limit, .absent = "50", .least = 1, .most = 200, .doc = "How many workflows are listed at most."));

STATIC_SHAPE(workflow_listed, "WorkflowListItem", (.doc = "A workflow in short.",
      .example = EXAMPLE({"workflow_run_id": "month-end-2026-01", "status": "completed", "ended_at": "2026-01-15T09:31:12Z", "runs": 3, "failed": 0, "truncated": false, "agents": ["invoice-reader"]})),
    STR(workflow_run_id, .flags = F_REQUIRED, .doc = "Identifies the workflow."),
    STR(status,          .flags = F_REQUIRED, .choices = run_status_names, .doc = "failed if any run failed, else in_progress if any is open, else completed."),
    TIME(started_at,     .flags = F_REQUIRED, .doc = "When the first run started."),
    TIME(ended_at,       .flags = F_REQUIRED | F_NULL, .doc = "When the last run ended, once no run is open."),
    INT(runs,            .flags = F_REQUIRED, .doc = "Its runs, at most the newest 1,000: status, ended_at, failed and agents are of these."),
    INT(failed,          .flags = F_REQUIRED, .doc = "Those of them that failed."),
    BOOL(truncated,      .flags = F_REQUIRED, .doc = "1,000 runs were counted; there may be more."),
    LIST_STR(agents,     .flags = F_REQUIRED, .doc = "The first ten agents, by their first run."));

SHAPE(workflow_list, "WorkflowList", (.doc = "Workflows, the latest first."),
    LIST(workflows, workflow_listed_shape, .flags = F_REQUIRED, .doc = "The one with the latest run first."),
    BOOL(more,                             .flags = F_REQUIRED, .doc = "There are more than are listed."),
    TIME(examined_since,                   .flags = F_REQUIRED | F_NULL, .doc = "Only runs that started since then were examined: the newest 10,000 of the range. Null: all."));

SHAPE(workflow_path, "WorkflowPath", (.example = EXAMPLE({"slug": "acme", "workflow_run_id": "month-end-2026-01"})),
    STR(slug,            .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(workflow_run_id, .flags = F_REQUIRED, .doc = "Identifies the workflow."));
/* clang-format on */
