// Addresses of pages that several features link to.

import type { Agent, AgentListItem } from "api";

import { ALL_TIME, rangeThrough } from "./ranges";
import { href, pathOf } from "./route";

/** The page that opens after signing in or choosing another tenant. */
export const homePath = (slug: string) => pathOf("t", slug, "overview");

export const fleetPath = (slug: string) => pathOf("t", slug, "fleet");

/** The runs of an agent, of all time; some of them with further filters. */
export const runsOf = (slug: string, agent_name: string, filters: Record<string, string> = {}) =>
    href(pathOf("t", slug, "runs"), { agent_name, since: ALL_TIME, ...filters });

/** The runs of an agent that its numbers are of: all, or the newest. */
export function countedRuns(
    slug: string,
    { agent_name, counts: { counted_since, newest_at } }: Agent,
    filters: Record<string, string> = {},
): string {
    const all = counted_since === null || newest_at === null;
    const since = all ? ALL_TIME : rangeThrough(counted_since, newest_at);
    return runsOf(slug, agent_name, { since, ...filters });
}

const RECENT_MAX = 20;

/** The runs of an agent of the fleet that are in progress, among its recent ones. */
export function openRuns(slug: string, { agent_name, recent_runs = [] }: AgentListItem): string {
    const [newest, oldest] = [recent_runs[0], recent_runs[RECENT_MAX - 1]];
    const since =
        newest && oldest ? rangeThrough(oldest.started_at, newest.started_at) : ALL_TIME;
    return runsOf(slug, agent_name, { since, status: "in_progress" });
}

export const runPage = (slug: string, run_id: string) => href(pathOf("t", slug, "runs", run_id));

export const agentPage = (slug: string, agent_name: string, tab: string | null = null) =>
    href(pathOf("t", slug, "agents", agent_name), { tab });

/** What it did and what it cost in a range. */
export const activityOf = (slug: string, agent_name: string, range: string) =>
    href(pathOf("t", slug, "agents", agent_name), { tab: "activity", range });

export const workflowsPath = (slug: string) => pathOf("t", slug, "workflows");

/** The runs of a workflow, of all time; some of them with further filters. */
export const workflowRuns = (
    slug: string,
    workflow_run_id: string,
    filters: Record<string, string> = {},
) => href(pathOf("t", slug, "runs"), { workflow_run_id, since: ALL_TIME, ...filters });

export const workflowPage = (slug: string, workflow_run_id: string) =>
    href(pathOf("t", slug, "workflows", workflow_run_id));
