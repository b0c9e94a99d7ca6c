// Addresses of pages that several features link to.

import { ALL_TIME } from "./ranges";
import { href, pathOf } from "./route";

/** The page that opens after signing in or choosing another tenant. */
export const homePath = (slug: string) => pathOf("t", slug, "overview");

export const fleetPath = (slug: string) => pathOf("t", slug, "fleet");

/** The runs of an agent, of all time; some of them with further filters. */
export const runsOf = (slug: string, agent_name: string, filters: Record<string, string> = {}) =>
    href(pathOf("t", slug, "runs"), { agent_name, since: ALL_TIME, ...filters });

export const runPage = (slug: string, run_id: string) => href(pathOf("t", slug, "runs", run_id));

export const agentPage = (slug: string, agent_name: string, tab: string | null = null) =>
    href(pathOf("t", slug, "agents", agent_name), { tab });

/** What it did and what it cost in a range. */
export const activityOf = (slug: string, agent_name: string, range: string) =>
    href(pathOf("t", slug, "agents", agent_name), { tab: "activity", range });

export const workflowsPath = (slug: string) => pathOf("t", slug, "workflows");

export const workflowPage = (slug: string, workflow_run_id: string) =>
    href(pathOf("t", slug, "workflows", workflow_run_id));
