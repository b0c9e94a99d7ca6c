// The tokens and the cost of the runs of a page.

import type { Run } from "api";

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { tokensOf } from "./usage_table";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const MARGIN_MS = 3_600_000; // some agents report usage after the end
const ROUND_MS = 600_000; // live rows that go on do not change the address each time

export interface RunSpending {
    tokens: number;
    cost: string | null; // null: no price
}

/** From the first start to the last event of these runs; null: there are none. */
function rangeOf(runs: readonly Run[]): string | null {
    if (runs.length === 0) return null;
    const from = Math.min(...runs.map((run) => Date.parse(run.started_at))) - MARGIN_MS;
    const to = Math.max(...runs.map((run) => Date.parse(run.last_event_at))) + MARGIN_MS;
    const time = (ms: number) => new Date(ms).toISOString();
    return `${time(Math.floor(from / ROUND_MS) * ROUND_MS)}/${time(Math.ceil(to / ROUND_MS) * ROUND_MS)}`;
}

/** By run id; runs without usage are not in it. */
export function useRunSpending(slug: string, runs: readonly Run[]): Map<string, RunSpending> {
    const range = rangeOf(runs);
    const { data } = useQuery(
        range === null ? null : `${USAGE} ${slug} ${range} run`,
        (signal) =>
            call(USAGE, {
                path: { slug },
                query: { time_range: range ?? "", group_by: "run" },
                signal,
            }),
    );
    const found = new Map<string, RunSpending>();
    for (const group of data?.groups ?? [])
        if (group.run_id !== undefined)
            found.set(group.run_id, { tokens: tokensOf(group), cost: group.cost });
    return found;
}
