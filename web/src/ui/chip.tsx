// Colours and words of states, the same everywhere.

import type { Run } from "api";
import { href, pathOf } from "../lib/route";
import { exact, span } from "../lib/format";

type Tone = "good" | "bad" | "warn" | "busy" | "quiet";

const RUN: Record<Run["status"], { tone: Tone; text: string }> = {
    completed: { tone: "good", text: "Completed" },
    failed: { tone: "bad", text: "Failed" },
    in_progress: { tone: "busy", text: "Running" },
};

const AGENT: Record<string, { tone: Tone; text: string }> = {
    up: { tone: "good", text: "Up" },
    late: { tone: "warn", text: "Late" },
    silent: { tone: "bad", text: "Silent" },
    unknown: { tone: "quiet", text: "Unknown" },
    disabled: { tone: "quiet", text: "Disabled" },
};

export function Chip({ tone, children }: { tone: Tone; children: string }) {
    return (
        <span class={`chip ${tone}`}>
            <i class="dot" />
            {children}
        </span>
    );
}

export function RunStatus({ status }: { status: Run["status"] }) {
    const { tone, text } = RUN[status];
    return <Chip tone={tone}>{text}</Chip>;
}

export function AgentState({ state }: { state: string }) {
    const { tone, text } = AGENT[state] ?? { tone: "quiet" as const, text: state };
    return <Chip tone={tone}>{text}</Chip>;
}

const LEVEL: Record<string, Tone> = {
    debug: "quiet",
    info: "busy",
    warning: "warn",
    warn: "warn",
    error: "bad",
    critical: "bad",
    success: "good",
};

export function toneOf(level: string): Tone {
    return LEVEL[level.toLowerCase()] ?? "busy";
}

/** Recent runs as small squares, the newest at the right. */
type Square = Pick<Run, "run_id" | "status" | "started_at" | "duration_ms">;

export function Squares({ slug, runs }: { slug: string; runs: readonly Square[] }) {
    return (
        <span class="squares">
            {[...runs].reverse().map((run) => {
                const { tone, text } = RUN[run.status];
                const length = run.duration_ms === null ? "" : `, ${span(run.duration_ms)}`;
                const title = `${text}, ${exact(run.started_at)}${length}`;
                return (
                    <a
                        key={run.run_id}
                        class={tone}
                        href={href(pathOf("t", slug, "runs", run.run_id))}
                        title={title}
                        aria-label={title}
                    />
                );
            })}
        </span>
    );
}
