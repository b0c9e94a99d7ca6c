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

/** Left and Right go through the squares. */
function move(event: KeyboardEvent) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const squares = [...(event.currentTarget as HTMLElement).querySelectorAll("a")];
    const at = squares.indexOf(document.activeElement as HTMLAnchorElement);
    const next = step === undefined ? undefined : squares[at + step];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    for (const square of squares) square.tabIndex = square === next ? 0 : -1;
    next.focus();
}

const LISTED = 10; // squares in a row of a list: each is 24 pixels wide

interface SquaresProps {
    slug: string;
    runs: readonly Square[];
    inList?: boolean; // in a row that links to the same runs: no stop of the Tab key
}

/** Recent runs as small squares, the newest at the right. They are one stop of the Tab key, not
 * twenty. */
export function RunSquares({ slug, runs, inList = false }: SquaresProps) {
    return (
        <span class="squares" role="group" aria-label="Recent runs" onKeyDown={move}>
            {[...runs].slice(0, inList ? LISTED : runs.length).reverse().map((run, i) => {
                const { tone, text } = STATUSES[run.status];
                const length = run.duration_ms === null ? "" : `, ${duration(run.duration_ms)}`;
                const title = `${text}, ${exactTime(run.started_at)}${length}`;
                return (
                    <a
                        key={run.run_id}
                        class={tone}
                        href={runPage(slug, run.run_id)}
                        tabIndex={i === runs.length - 1 && !inList ? 0 : -1}
                        title={title}
                        aria-label={title}
                    />
                );
            })}
        </span>
    );
}
