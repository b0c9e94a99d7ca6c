// Tokens and cost by model.

import type { UsageGroup } from "api";

import { compact, cost } from "../../lib/format";
import { Table } from "../../ui";

export const tokensOf = (one: UsageGroup) =>
    one.input_tokens + one.output_tokens + one.cache_read_tokens + one.cache_write_tokens;

function byCost(a: UsageGroup, b: UsageGroup): number {
    return Number(b.cost ?? -1) - Number(a.cost ?? -1) || tokensOf(b) - tokensOf(a);
}

/** The most expensive model first. */
export function UsageTable({ groups, flat = false }: { groups: UsageGroup[]; flat?: boolean }) {
    return (
        <Table
            class={flat ? "flat" : ""}
            rows={[...groups].sort(byCost)}
            keyOf={(group) => group.model ?? ""}
            columns={[
                { title: "Model", by: (group) => group.model ?? "", cell: (group) => group.model },
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
