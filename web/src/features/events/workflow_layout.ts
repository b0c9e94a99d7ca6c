// Where the steps of a workflow stand in its graph: each below all that it follows.

import type { Workflow } from "api";

export interface Placed {
    run: Workflow["runs"][number];
    layer: number; // from the top
    place: number; // from the left, in its layer
}

export interface Layout {
    steps: Placed[];
    byRun: Map<string, Placed>;
    layers: number[]; // the number of steps of each
}

/** The runs whose links are known. Where links were left out, all those of the latest runs were: these
 * are not first steps, though no link leads to them. A run that a link leads to has all of its links. */
export function linkedRuns({ runs, links, links_truncated }: Workflow): Workflow["runs"] {
    if (!links_truncated) return runs;
    const reached = new Set(links.map((link) => link.to.run_id));
    return runs.slice(0, Math.max(0, ...runs.map((run, i) => (reached.has(run.run_id) ? i : 0))) + 1);
}

/** Runs come by start, so those that a run follows are placed before it. In a layer each stands near
 * the middle of those that it follows, which keeps branches apart. */
export function layoutOf({ runs, links }: Pick<Workflow, "runs" | "links">): Layout {
    const before = new Map<string, string[]>();
    for (const link of links) {
        const sources = before.get(link.to.run_id);
        if (sources) sources.push(link.from.run_id);
        else before.set(link.to.run_id, [link.from.run_id]);
    }
    const byRun = new Map<string, Placed>();
    const rows: Placed[][] = [];
    for (const run of runs) {
        const sources = (before.get(run.run_id) ?? []).flatMap((id) => byRun.get(id) ?? []);
        const layer = Math.max(-1, ...sources.map((one) => one.layer)) + 1;
        const placed = { run, layer, place: 0 };
        byRun.set(run.run_id, placed);
        (rows[layer] ??= []).push(placed);
    }
    const middle = (one: Placed) => {
        const places = (before.get(one.run.run_id) ?? []).map((id) => byRun.get(id)?.place ?? 0);
        return places.length === 0 ? Infinity : places.reduce((a, b) => a + b, 0) / places.length;
    };
    for (const row of rows) {
        const order = new Map(row.map((one, i) => [one, [middle(one), i] as const]));
        row.sort((a, b) => {
            const [x, y] = [order.get(a) ?? [0, 0], order.get(b) ?? [0, 0]];
            return x[0] === y[0] ? x[1] - y[1] : x[0] - y[0];
        });
        row.forEach((one, place) => (one.place = place));
    }
    return { steps: rows.flat(), byRun, layers: rows.map((row) => row.length) };
}
