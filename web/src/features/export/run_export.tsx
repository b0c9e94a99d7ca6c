// A file with the runs of a list: all that match its filters, on all pages.

import type { RunListItem } from "api";
import { useState } from "preact/hooks";

import { call, type Query, urlOf } from "../../lib/api";
import { count } from "../../lib/format";
import { ErrorNote, Icon, Menu, Select } from "../../ui";
import { useMaking } from "./making";
import { FORMATS, save } from "./save";

const RUNS = "GET /api/v1/tenants/{slug}/dashboard/runs";
const PAGE = 1000;
const RUNS_MAX = 200_000; // they are kept in memory until the file is saved

const COLUMNS = [
    "run_id",
    "agent_name",
    "agent_version",
    "status",
    "started_at",
    "ended_at",
    "duration_ms",
    "records_processed",
    "event_count",
    "error_type",
    "error_message",
    "message",
    "workflow_run_id",
    "tokens",
    "cost",
] as const;

/** A cell that a spreadsheet would take for a formula begins with a quote. */
function cell(value: unknown): string {
    if (value === null || value === undefined) return "";
    const text = String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

function linesOf(runs: RunListItem[], format: string): string {
    const lines = runs.map((run) =>
        format === "csv" ? COLUMNS.map((name) => cell(run[name])).join(",") : JSON.stringify(run),
    );
    return lines.map((line) => `${line}\n`).join("");
}

const EVENTS = "GET /api/v1/tenants/{slug}/export/events";

interface Props {
    slug: string;
    range: string; // of the list
    filters: Query<typeof RUNS>;
}

async function collect(
    { slug, filters }: Pick<Props, "slug" | "filters">,
    format: string,
    signal: AbortSignal,
    onProgress: (runs: number) => void,
): Promise<Blob> {
    const parts = format === "csv" ? [`${COLUMNS.join(",")}\n`] : [];
    let [cursor, n]: [string | null, number] = [null, 0];
    do {
        const query: Query<typeof RUNS> = { ...filters, include_cost: true, limit: PAGE, cursor };
        delete query.order;
        delete query.ascending;
        const page: { runs: RunListItem[]; next: string | null } = await call(RUNS, {
            path: { slug },
            query,
            signal,
        });
        parts.push(linesOf(page.runs, format));
        n += page.runs.length;
        onProgress(n);
        cursor = page.next;
    } while (cursor !== null && n < RUNS_MAX);
    return new Blob(parts, { type: format === "csv" ? "text/csv" : "application/x-ndjson" });
}

export function RunExport(props: Props) {
    const [format, setFormat] = useState("csv");
    const {
        progress: runs,
        error,
        start,
        stop,
    } = useMaking(async (signal, onProgress) => {
        const file = await collect(props, format, signal, onProgress);
        save(file, `${props.slug}-runs.${format}`);
    });
    return (
        <Menu
            label={
                <>
                    <Icon name="export" /> {runs === null ? "Export" : count(runs)}
                </>
            }
            name={runs === null ? "Export" : `Export: ${count(runs)} runs so far`}
        >
            {() => (
                <>
                    {error && <ErrorNote error={error} />}
                    <p class="hint">
                        All runs that match these filters, newest first; at most {count(RUNS_MAX)}.
                    </p>
                    <Select
                        label="Format"
                        choices={FORMATS}
                        value={format}
                        onChange={setFormat}
                    />
                    {runs === null ? (
                        <button type="button" class="primary" onClick={() => void start()}>
                            Download
                        </button>
                    ) : (
                        <>
                            <progress aria-label="Export in progress" />
                            <button type="button" onClick={stop}>
                                Stop
                            </button>
                        </>
                    )}
                    <a
                        href={urlOf(EVENTS, { slug: props.slug }, { format, time_range: props.range })}
                        download={`${props.slug}-events.${format}`}
                    >
                        All events of the period instead
                    </a>
                </>
            )}
        </Menu>
    );
}
