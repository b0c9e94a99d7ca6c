// The runs of the same agent before and after a run.

import type { Run } from "api";

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { runPage } from "../../lib/paths";
import { href, pathOf } from "../../lib/route";

const RUNS = "GET /api/v1/tenants/{slug}/dashboard/runs";

/** The id of the nearest run that started earlier or later; null if no such run was found. */
async function nearest(slug: string, run: Run, later: boolean, signal: AbortSignal) {
    const at = later ? { since: run.started_at } : { until: run.started_at };
    const order = { order: "started", ascending: later } as const;
    const query = { agent_name: run.agent_name, limit: later ? 5 : 1, ...at, ...order };
    const page = await call(RUNS, { path: { slug }, query, signal });
    if (page.examined_since) return null; // too many runs in between
    return page.runs.find((one) => one.run_id !== run.run_id)?.run_id ?? null;
}

export function Neighbours({ slug, run }: { slug: string; run: Run }) {
    const { data } = useQuery(`${RUNS} ${slug} beside ${run.run_id}`, async (signal) => {
        const [before, after] = await Promise.all([
            nearest(slug, run, false, signal),
            nearest(slug, run, true, signal),
        ]);
        return { before, after };
    });
    if (!data) return null;
    const { before, after } = data;
    return (
        <>
            {before && (
                <a class="button" href={href(pathOf("t", slug, "compare"), { a: before, b: run.run_id })}>
                    Compare with the run before
                </a>
            )}
            {before && (
                <a class="button" href={runPage(slug, before)}>
                    Previous
                </a>
            )}
            {after && (
                <a class="button" href={runPage(slug, after)}>
                    Next
                </a>
            )}
        </>
    );
}
