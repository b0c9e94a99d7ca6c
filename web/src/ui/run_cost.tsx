// What a run used of models, and what that cost.

import type { Run } from "api";

import { call } from "../lib/api";
import { compact, cost, count } from "../lib/format";
import { useQuery } from "../lib/query";
import { Card } from "./basics";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const BEFORE_MS = 60_000; // agents' clocks differ a little
const AFTER_MS = 15 * 60_000; // and usage is often reported after the run

function rangeOf(run: Run): string {
    const from = Date.parse(run.started_at) - BEFORE_MS;
    const to = Date.parse(run.ended_at ?? run.last_event_at) + AFTER_MS;
    return `${new Date(from).toISOString()}/${new Date(to).toISOString()}`;
}

export function RunCost({ slug, run }: { slug: string; run: Run }) {
    const range = rangeOf(run);
    const { data } = useQuery(`${USAGE} ${slug} ${run.run_id} ${range}`, (signal) =>
        call(USAGE, {
            path: { slug },
            query: { time_range: range, group_by: "run,model", agent_name: run.agent_name },
            signal,
        }),
    );
    const groups = (data?.groups ?? []).filter((one) => one.run_id === run.run_id);
    if (groups.length === 0) return null;
    return (
        <Card title="Tokens and cost">
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
