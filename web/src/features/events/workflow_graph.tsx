// The graph of a workflow: its runs from top to bottom, parallel ones side by side, and on each link
// whether the contract holds. The table below it says the same in words.

import type { Run, Workflow, WorkflowLink } from "api";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { duration, plural } from "../../lib/format";
import { runPage } from "../../lib/paths";
import { layoutOf, linkedRuns, type Placed } from "./workflow_layout";

const [WIDTH, HEIGHT, GAP_X, GAP_Y, EDGE] = [200, 52, 16, 44, 2]; // pixels
const NARROWEST = 108; // of a step; where fewer fit side by side, the graph scrolls
const LETTER = 7.2; // pixels, about
const SHOWN_MAX = 200; // steps; more are only in the table

const STATUS_WORDS: Record<Run["status"], string> = {
    completed: "Completed",
    failed: "Failed",
    in_progress: "Running",
};

const clipped = (text: string, room: number) => {
    const letters = Math.max(4, Math.floor(room / LETTER));
    return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
};

const kindOf = (link: WorkflowLink) =>
    link.compatible === null ? "open" : link.compatible ? "good" : "bad";

interface Size {
    width: number; // of a step
    whole: number; // of the widest layer
}

const across = (n: number, width: number) => n * width + (n - 1) * GAP_X;

const leftOf = ({ place }: Placed, inLayer: number, { width, whole }: Size) =>
    (whole - across(inLayer, width)) / 2 + place * (width + GAP_X) + EDGE;

const topOf = ({ layer }: Placed) => layer * (HEIGHT + GAP_Y) + EDGE;

function Edge({ link, from, to }: { link: WorkflowLink; from: [number, number]; to: [number, number] }) {
    const kind = kindOf(link);
    const middle = (from[1] + to[1]) / 2;
    const [x, y] = [(from[0] + to[0]) / 2, middle];
    return (
        <g class={`edge ${kind}`}>
            <path d={`M${from} C${from[0]},${middle} ${to[0]},${middle} ${to}`} />
            {kind !== "open" && (
                <>
                    <circle cx={x} cy={y} r="9" />
                    <path
                        class="sign"
                        d={
                            kind === "good"
                                ? `M${x - 4},${y} l3,3 l5,-6`
                                : `M${x - 3.5},${y - 3.5} l7,7 m0,-7 l-7,7`
                        }
                    />
                </>
            )}
        </g>
    );
}

function Node({ slug, step, left, width }: { slug: string; step: Placed; left: number; width: number }) {
    const { run } = step;
    const top = topOf(step);
    const took = run.duration_ms === null ? "" : `, ${duration(run.duration_ms)}`;
    const words = `${STATUS_WORDS[run.status]}${took}`;
    return (
        <a class={`node ${run.status}`} href={runPage(slug, run.run_id)}>
            <title>{`${run.agent_name}: ${words}`}</title>
            <rect x={left} y={top} width={width} height={HEIGHT} rx="7" />
            <rect class="status" x={left} y={top} width="5" height={HEIGHT} rx="2" />
            <text x={left + 14} y={top + 21}>
                {clipped(run.agent_name, width - 22)}
            </text>
            <text class="small" x={left + 14} y={top + 39}>
                {clipped(words, (width - 22) * 1.1)}
            </text>
        </a>
    );
}

/** As wide as there is room for the widest layer, within bounds. */
function useStepWidth(widest: number) {
    const holder = useRef<HTMLDivElement>(null);
    const [room, setRoom] = useState(0);
    useLayoutEffect(() => {
        const measure = () => setRoom(holder.current?.clientWidth ?? 0);
        measure();
        const size = new ResizeObserver(measure);
        if (holder.current) size.observe(holder.current);
        return () => size.disconnect();
    }, []);
    const each = (room - 2 * EDGE - (widest - 1) * GAP_X) / widest;
    return { holder, width: Math.round(Math.min(WIDTH, Math.max(NARROWEST, each))) };
}

export function WorkflowGraph({ slug, workflow }: { slug: string; workflow: Workflow }) {
    const runs = linkedRuns(workflow).slice(0, SHOWN_MAX);
    const { steps, byRun, layers } = layoutOf({ runs, links: workflow.links });
    const widest = Math.max(1, ...layers);
    const { holder, width } = useStepWidth(widest);
    const size = { width, whole: across(widest, width) };
    const height = layers.length * (HEIGHT + GAP_Y) - GAP_Y + 2 * EDGE;
    const centre = (step: Placed) => leftOf(step, layers[step.layer] ?? 1, size) + width / 2;
    return (
        <figure class="workflow-graph">
            <div ref={holder} class="scroll" tabIndex={0} role="region" aria-label="Graph of the workflow">
                <svg width={size.whole + 2 * EDGE} height={height} role="group" aria-label="Steps">
                    <g aria-hidden="true">
                        {workflow.links.map((link) => {
                            const from = byRun.get(link.from.run_id);
                            const to = byRun.get(link.to.run_id);
                            if (!from || !to) return null;
                            return (
                                <Edge
                                    key={`${link.from.run_id} ${link.to.run_id}`}
                                    link={link}
                                    from={[centre(from), topOf(from) + HEIGHT]}
                                    to={[centre(to), topOf(to)]}
                                />
                            );
                        })}
                    </g>
                    {steps.map((step) => (
                        <Node
                            key={step.run.run_id}
                            slug={slug}
                            step={step}
                            left={leftOf(step, layers[step.layer] ?? 1, size)}
                            width={width}
                        />
                    ))}
                </svg>
            </div>
            {runs.length < workflow.runs.length && (
                <p class="note">The graph has the first {plural(runs.length, "run")}; the table has {workflow.truncated ? "more" : "all"}.</p>
            )}
        </figure>
    );
}
