// Addresses of views that several pages link to.

import { href, pathOf } from "./route";

export const runsOf = (slug: string, agent_name: string) =>
    href(pathOf("t", slug, "runs"), { agent_name });

export const runPage = (slug: string, run_id: string) => href(pathOf("t", slug, "runs", run_id));

/** Where somebody who clicks on an agent's name goes. */
export const agentPage = (slug: string, agent_name: string, tab: string | null = null) =>
    href(pathOf("t", slug, "agents", agent_name), { tab });

export const workflowPage = (slug: string, workflow_run_id: string) =>
    href(pathOf("t", slug, "workflows", workflow_run_id));
