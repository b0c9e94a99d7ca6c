// The status of a run, with the same word and colour everywhere.

import type { Run } from "api";

import { duration, exactTime } from "../../lib/format";
import { runPage } from "../../lib/paths";
import { Chip, type Tone } from "../../ui";

type Status = Run["status"];

const STATUSES: Record<Status, { tone: Tone; text: string }> = {
    completed: { tone: "good", text: "Completed" },
    failed: { tone: "bad", text: "Failed" },
    in_progress: { tone: "busy", text: "Running" },
};

export function RunStatus({ status }: { status: Status }) {
    const { tone, text } = STATUSES[status];
    return <Chip tone={tone}>{text}</Chip>;
}

type Square = Pick<Run, "run_id" | "status" | "started_at" | "duration_ms">;

/** Recent runs as small squares, the newest at the right. */
export function RunSquares({ slug, runs }: { slug: string; runs: readonly Square[] }) {
    return (
        <span class="squares">
            {[...runs].reverse().map((run) => {
                const { tone, text } = STATUSES[run.status];
                const length = run.duration_ms === null ? "" : `, ${duration(run.duration_ms)}`;
                const title = `${text}, ${exactTime(run.started_at)}${length}`;
                return (
                    <a
                        key={run.run_id}
                        class={tone}
                        href={runPage(slug, run.run_id)}
                        title={title}
                        aria-label={title}
                    />
                );
            })}
        </span>
    );
}
