// A menu that downloads the data of a period as a file, with progress and a way to stop.

import { useRef, useState } from "preact/hooks";

import { download, urlOf } from "../../lib/api";
import { bytes } from "../../lib/format";
import { ErrorNote, Icon, Menu, Select } from "../../ui";
import { useMaking } from "./making";
import { FORMATS, save } from "./save";

const EXPORTS = {
    events: "GET /api/v1/tenants/{slug}/export/events",
    business: "GET /api/v1/tenants/{slug}/export/business",
    llm: "GET /api/v1/tenants/{slug}/export/llm",
} as const;

interface Props {
    slug: string;
    content: keyof typeof EXPORTS;
    range: string;
    description: string; // of what will be in the file
}

/** While an export is running, the button shows its progress, even when the menu is closed. */
export function ExportMenu(props: Props) {
    const [format, setFormat] = useState("csv");
    const closeMenu = useRef(() => {});
    const {
        progress: size,
        error,
        start,
        stop,
    } = useMaking(async (signal, onProgress) => {
        const { slug, content, range } = props;
        const url = urlOf(EXPORTS[content], { slug }, { format, time_range: range });
        const file = await download(url, signal, onProgress);
        save(file, `${slug}-${content}-${range.replace(/[^\w-]+/g, "_")}.${format}`);
        closeMenu.current();
    });
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
                closeMenu.current = close;
                return (
                    <>
                        {error && <ErrorNote error={error} />}
                        <p class="hint">{props.description}</p>
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
                                <progress aria-label="Export in progress" />
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
