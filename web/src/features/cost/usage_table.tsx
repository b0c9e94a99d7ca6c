// Tokens and cost by model, by version of an agent, or by run.

import type { UsageGroup } from "api";

import { compact, cost, shortId } from "../../lib/format";
import { agentPage, runPage } from "../../lib/paths";
import { type Column, Table } from "../../ui";

export const tokensOf = (one: UsageGroup) =>
    one.input_tokens + one.output_tokens + one.cache_read_tokens + one.cache_write_tokens;

function byCost(a: UsageGroup, b: UsageGroup): number {
    return Number(b.cost ?? -1) - Number(a.cost ?? -1) || tokensOf(b) - tokensOf(a);
}

export const USAGE_TABLES = [
    { value: "model", label: "By model" },
    { value: "agent,version", label: "By version" },
    { value: "run,agent", label: "By run" },
];

/** What the groups are of. */
function namesOf(slug: string, by: string): Column<UsageGroup>[] {
    if (by === "model")
        return [{ title: "Model", by: (group) => group.model ?? "", cell: (group) => group.model }];
    const agent: Column<UsageGroup> = {
        title: "Agent",
        by: (group) => group.agent_name ?? "",
        cell: (group) => (
            <a href={agentPage(slug, group.agent_name ?? "")} dir="auto">
                {group.agent_name || "removed"}
            </a>
        ),
    };
    if (by === "run,agent")
        return [
            {
                title: "Run",
                cell: (group) => (
                    <a class="code" href={runPage(slug, group.run_id ?? "")}>
                        {shortId(group.run_id ?? "")}
                    </a>
                ),
            },
            agent,
        ];
    return [
        agent,
        {
            title: "Version",
            by: (group) => group.agent_version ?? "",
            cell: (group) => group.agent_version || <span class="muted">not named</span>,
        },
    ];
}

interface Props {
    groups: UsageGroup[];
    flat?: boolean;
    slug?: string;
    by?: string; // of USAGE_TABLES
}

const keyOf = ({ model, agent_name, agent_version, run_id }: UsageGroup) =>
    [model, agent_name, agent_version, run_id].join("\n");

/** The most expensive first. */
export function UsageTable({ groups, flat = false, slug = "", by = "model" }: Props) {
    return (
        <Table
            class={flat ? "flat" : ""}
            rows={[...groups].sort(byCost)}
            keyOf={keyOf}
            columns={[
                ...namesOf(slug, by),
                {
                    title: "Calls",
                    class: flat ? "number" : "number wide",
                    label: "calls",
                    by: (group) => group.calls,
                    cell: (group) => compact(group.calls),
                },
                {
                    title: "Input",
                    class: "number",
                    label: "in",
                    by: (group) => group.input_tokens,
                    cell: (group) => compact(group.input_tokens),
                },
                {
                    title: "Output",
                    class: "number",
                    label: "out",
                    by: (group) => group.output_tokens,
                    cell: (group) => compact(group.output_tokens),
                },
                {
                    title: "Cache reads",
                    class: "number wide",
                    by: (group) => group.cache_read_tokens,
                    cell: (group) => compact(group.cache_read_tokens),
                },
                {
                    title: "Cache writes",
                    class: "number wide",
                    by: (group) => group.cache_write_tokens,
                    cell: (group) => compact(group.cache_write_tokens),
                },
                {
                    title: "Cost",
                    class: "number",
                    by: (group) => Number(group.cost ?? -1),
                    cell: (group) =>
                        group.cost === null ? (
                            <span class="chip warn">no price</span>
                        ) : (
                            cost(group.cost)
                        ),
                },
            ]}
        />
    );
}
