// What a run used of models, and what that cost.

import type { Run } from "api";

import { call } from "../../lib/api";
import { compact, cost, count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { Card, ErrorNote } from "../../ui/basics";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const AROUND_MS = 86_400_000; // agents' clocks differ, and some report what they used much later

function rangeOf(run: Run): string {
    const from = Date.parse(run.started_at) - AROUND_MS;
    const to = Date.parse(run.ended_at ?? run.last_event_at) + AROUND_MS;
    return `${new Date(from).toISOString()}/${new Date(to).toISOString()}`;
}

export function RunCost({ slug, run }: { slug: string; run: Run }) {
    const range = rangeOf(run);
    const { run_id } = run;
    const { data, error } = useQuery(`${USAGE} ${slug} ${run_id} ${range}`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: range, run_id }, signal }),
    );
    if (error)
        return (
            <Card title="Tokens and cost">
                <ErrorNote error={error} />
            </Card>
        );
    if (!data || data.groups.length === 0) return null;
    const { groups, total } = data;
    return (
        <Card
            title="Tokens and cost"
            aside={
                groups.length > 1 && (
                    <span>
                        {cost(total.cost)}
                        {total.partial && " for what has a price"}
                    </span>
                )
            }
        >
            <table class="list flat">
                <thead>
                    <tr>
                        <th>Model</th>
                        <th class="number">Calls</th>
                        <th class="number">Input</th>
                        <th class="number">Output</th>
                        <th class="number wide">Cache reads</th>
                        <th class="number wide">Cache writes</th>
                        <th class="number">Cost</th>
                    </tr>
                </thead>
                <tbody>
                    {groups.map((one) => (
                        <tr key={one.model}>
                            <td>{one.model}</td>
                            <td class="number" data-label="calls">
                                {count(one.calls)}
                            </td>
                            <td class="number" data-label="in">
                                {compact(one.input_tokens)}
                            </td>
                            <td class="number" data-label="out">
                                {compact(one.output_tokens)}
                            </td>
                            <td class="number wide">{compact(one.cache_read_tokens)}</td>
                            <td class="number wide">{compact(one.cache_write_tokens)}</td>
                            <td class="number">{cost(one.cost)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </Card>
    );
}
