// Everything of a period as a file, with what has come so far, and a way to stop.

import { useEffect, useRef, useState } from "preact/hooks";

import { ApiError, download, urlOf } from "../../lib/api";
import { bytes } from "../../lib/format";
import { ErrorNote, Select } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { Menu } from "../../ui/menu";

const FORMATS = [
    { value: "csv", label: "CSV" },
    { value: "ndjson", label: "JSON lines" },
];

const EXPORTS = {
    events: "GET /api/v1/tenants/{slug}/export/events",
    business: "GET /api/v1/tenants/{slug}/export/business",
    llm: "GET /api/v1/tenants/{slug}/export/llm",
} as const;

interface Props {
    slug: string;
    what: keyof typeof EXPORTS;
    range: string;
    words: string; // what will be in the file
}

/** Hands the file to the browser, as if it had been a link. */
function save(file: Blob, name: string) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function useExport({ slug, what, range }: Props, format: string, done: () => void) {
    const [size, setSize] = useState<number | null>(null); // null: none is under way
    const [error, setError] = useState<ApiError | null>(null);
    const abort = useRef<AbortController | null>(null);
    useEffect(() => () => abort.current?.abort(), []);
    const start = async () => {
        const control = new AbortController();
        abort.current = control;
        setError(null);
        setSize(0);
        try {
            const from = urlOf(EXPORTS[what], { slug }, { format, time_range: range });
            const file = await download(from, control.signal, setSize);
            save(file, `${slug}-${what}-${range.replace(/[^\w-]+/g, "_")}.${format}`);
            done();
        } catch (problem) {
            if (control.signal.aborted) return;
            setError(problem instanceof ApiError ? problem : new ApiError(0, String(problem)));
        } finally {
            setSize(null);
        }
    };
    const stop = () => abort.current?.abort();
    return { size, error, start, stop };
}

/** One menu: while something is under way it says so, open or not. */
export function Export(props: Props) {
    const [format, setFormat] = useState("csv");
    const done = useRef(() => {});
    const { size, error, start, stop } = useExport(props, format, () => done.current());
    return (
        <Menu
            label={
                <>
                    <Icon name="export" /> {size === null ? "Export" : bytes(size)}
                </>
            }
            name={size === null ? "Export" : `Export: ${bytes(size)} so far`}
        >
            {(close) => {
                done.current = close;
                return (
                    <>
                        {error && <ErrorNote error={error} />}
                        <p class="hint">{props.words}</p>
                        {size === null ? (
                            <>
                                <Select
                                    label="Format"
                                    choices={FORMATS}
                                    value={format}
                                    onChange={setFormat}
                                />
                                <button type="button" class="primary" onClick={() => void start()}>
                                    Download
                                </button>
                            </>
                        ) : (
                            <>
                                <progress aria-label="Export under way" />
                                <span>{bytes(size)} so far</span>
                                <button type="button" onClick={stop}>
                                    Stop
                                </button>
                            </>
                        )}
                    </>
                );
            }}
        </Menu>
    );
}
