// An agent whose alerts nobody wants to be told of for a while.

import { useRef } from "preact/hooks";

import { useAct } from "../lib/act";
import { call } from "../lib/api";
import { ErrorNote, Time } from "./basics";

const MUTE = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/mute";
const UNMUTE = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/mute";
const HOUR_MS = 3_600_000;

const SPANS = [
    { hours: 1, label: "For an hour" },
    { hours: 8, label: "For 8 hours" },
    { hours: 24, label: "For a day" },
    { hours: 168, label: "For a week" },
];

interface Props {
    slug: string;
    agent_name: string;
    until: string | null; // null: it is not muted
    onChange: () => void;
}

export function Mute({ slug, agent_name, until, onChange }: Props) {
    const box = useRef<HTMLDetailsElement>(null);
    const { busy, error, act } = useAct();
    const path = { slug, agent_name };
    const set = (hours: number) =>
        act(async () => {
            const end = new Date(Date.now() + hours * HOUR_MS).toISOString();
            if (hours === 0) await call(UNMUTE, { path });
            else await call(MUTE, { path, body: { until: end } });
            box.current?.removeAttribute("open");
            onChange();
        });
    if (until !== null)
        return (
            <span class="enable">
                <span>
                    Muted, ends <Time at={until} />
                </span>
                <button type="button" disabled={busy} onClick={() => void set(0)}>
                    Unmute
                </button>
            </span>
        );
    return (
        <details class="menu" ref={box}>
            <summary class="button" aria-label={`Mute ${agent_name}`}>
                Mute
            </summary>
            <div class="sheet">
                {error && <ErrorNote error={error} />}
                <p class="hint">Alerts are still listed here; no webhook is told.</p>
                {SPANS.map((one) => (
                    <button
                        key={one.hours}
                        type="button"
                        disabled={busy}
                        onClick={() => void set(one.hours)}
                    >
                        {one.label}
                    </button>
                ))}
            </div>
        </details>
    );
}
