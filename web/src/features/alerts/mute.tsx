// Muting an agent: its alerts are listed, but no notification is sent for a while.

import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { ErrorNote, Menu, Skeleton, Time } from "../../ui";

const AGENT = "GET /api/v1/tenants/{slug}/agents/{agent_name}";
const MUTE = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/mute";
const UNMUTE = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/mute";
const HOUR_MS = 3_600_000;

const DURATIONS = [
    { hours: 1, label: "For an hour" },
    { hours: 8, label: "For 8 hours" },
    { hours: 24, label: "For a day" },
    { hours: 168, label: "For a week" },
];

interface AgentRef {
    slug: string;
    agent_name: string;
}

interface SheetProps extends AgentRef {
    until: string | null; // null: not muted
    onChange: () => void;
}

function Sheet({ slug, agent_name, until, onChange }: SheetProps) {
    const { busy, error, perform } = useAction();
    const path = { slug, agent_name };
    const mute = (hours: number) =>
        perform(async () => {
            const end = new Date(Date.now() + hours * HOUR_MS).toISOString();
            await call(MUTE, { path, body: { until: end } });
            onChange();
        });
    const unmute = () =>
        perform(async () => {
            await call(UNMUTE, { path });
            onChange();
        });
    return (
        <>
            {error && <ErrorNote error={error} />}
            {until !== null ? (
                <>
                    <p class="hint">
                        <bdi>{agent_name}</bdi> is muted; this ends <Time at={until} />.
                    </p>
                    <button type="button" disabled={busy} onClick={() => void unmute()}>
                        Unmute
                    </button>
                </>
            ) : (
                <>
                    <p class="hint">
                        Alerts of <bdi>{agent_name}</bdi> are still listed, but no notification is sent.
                    </p>
                    {DURATIONS.map((one) => (
                        <button
                            key={one.hours}
                            type="button"
                            disabled={busy}
                            onClick={() => void mute(one.hours)}
                        >
                            {one.label}
                        </button>
                    ))}
                </>
            )}
        </>
    );
}

/** For an agent that is loaded. */
export function Mute({ until, onChange, ...agent }: SheetProps) {
    return (
        <Menu
            label={
                until === null ? (
                    "Mute"
                ) : (
                    <span>
                        Muted, ends <Time at={until} />
                    </span>
                )
            }
            name={until === null ? `Mute ${agent.agent_name}` : undefined}
        >
            {(close) => (
                <Sheet
                    {...agent}
                    until={until}
                    onChange={() => {
                        close();
                        onChange();
                    }}
                />
            )}
        </Menu>
    );
}

interface LoadedSheetProps extends AgentRef {
    onDone: (muted: boolean) => void;
}

function LoadedSheet({ slug, agent_name, onDone }: LoadedSheetProps) {
    const { data, error } = useQuery(`${AGENT} ${slug} ${agent_name}`, (signal) =>
        call(AGENT, { path: { slug, agent_name }, signal }),
    );
    if (error) return <ErrorNote error={error} />;
    if (!data) return <Skeleton rows={2} />;
    return (
        <Sheet
            slug={slug}
            agent_name={agent_name}
            until={data.muted_until}
            onChange={() => onDone(data.muted_until === null)}
        />
    );
}

/** For an agent known only by name: whether it is muted is loaded when the menu opens. */
export function MuteByName(agent: AgentRef) {
    const [muted, setMuted] = useState(false);
    return (
        <Menu
            label={muted ? "Muted" : "Mute"}
            name={`${muted ? "Muted" : "Mute"} ${agent.agent_name}`}
        >
            {(close) => (
                <LoadedSheet
                    {...agent}
                    onDone={(to) => {
                        setMuted(to);
                        close();
                    }}
                />
            )}
        </Menu>
    );
}
