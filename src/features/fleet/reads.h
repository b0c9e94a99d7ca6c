/* reads.h - the reads that the routes name. */
#pragma once
#include "api/route.h"

/* A page of agents. By name, one page scans at most 10,000 agents and is limited in size, so it may
 * be short; only a null `next` is the end. In any other order, every page reads what the states of
 * all agents are derived from. */
call_work_fn fleet_list;

/* One agent in full. ERR_NOT_FOUND. */
call_work_fn fleet_agent;

/* The workflows of the newest 10,000 runs of the query's range, the latest first. Each is summed up
 * over its newest 1,000 runs, also those outside the range. */
call_work_fn workflow_list_read;

/* The earliest 1,000 runs of a workflow (its status is that of the newest 1,000, too), and the
 * links between them: every required input of a run's agent must be an output of
 * the agent of a run that had ended before it began, with the same type or `any` on either side.
 * ERR_NOT_FOUND. */
call_work_fn workflow_read;

/* Runs and failures over time, and the most frequent errors. The newest 100,000 runs of the range
 * are counted. */
call_work_fn run_totals_read;
