// An agent whose alerts nobody wants to be told of for a while.

import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { forget, useQuery } from "../../lib/query";
import { ErrorNote, Skeleton, Time } from "../../ui/basics";
import { Menu } from "../../ui/menu";

const AGENT = "GET /api/v1/tenants/{slug}/agents/{agent_name}";
const MUTE = "PUT /api/v1/tenants/{slug}/agents/{agent_name}/mute";
const UNMUTE = "DELETE /api/v1/tenants/{slug}/agents/{agent_name}/mute";
const HOUR_MS = 3_600_000;

const SPANS = [
    { hours: 1, label: "For an hour" },
    { hours: 8, label: "For 8 hours" },
    { hours: 24, label: "For a day" },
    { hours: 168, label: "For a week" },
];

interface Agent {
    slug: string;
    agent_name: string;
}

interface SheetProps extends Agent {
    until: string | null; // null: it is not muted
    onChange: () => void;
}

function Sheet({ slug, agent_name, until, onChange }: SheetProps) {
    const { busy, error, act } = useAct();
    const path = { slug, agent_name };
    const set = (hours: number) =>
        act(async () => {
            const end = new Date(Date.now() + hours * HOUR_MS).toISOString();
            if (hours === 0) await call(UNMUTE, { path });
            else await call(MUTE, { path, body: { until: end } });
            onChange();
        });
    return (
        <>
            {error && <ErrorNote error={error} />}
            {until !== null ? (
                <>
                    <p class="hint">
                        {agent_name} is muted, ends <Time at={until} />
                    </p>
                    <button type="button" disabled={busy} onClick={() => void set(0)}>
                        Unmute
                    </button>
                </>
            ) : (
                <>
                    <p class="hint">
                        Alerts of {agent_name} are still listed here; no webhook is told.
                    </p>
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
                </>
            )}
        </>
    );
}

/** Where the agent is known. */
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

function Asked({ slug, agent_name, onDone }: Agent & { onDone: (muted: boolean) => void }) {
    const key = `${AGENT} ${slug} ${agent_name}`;
    const { data, error } = useQuery(key, (signal) =>
        call(AGENT, { path: { slug, agent_name }, signal }),
    );
    if (error) return <ErrorNote error={error} />;
    if (!data) return <Skeleton rows={2} />;
    return (
        <Sheet
            slug={slug}
            agent_name={agent_name}
            until={data.muted_until}
            onChange={() => {
                forget(key);
                onDone(data.muted_until === null);
            }}
        />
    );
}

/** Where only its name is known: whether it is muted is asked when somebody wants to know. */
export function MuteByName(agent: Agent) {
    const [muted, setMuted] = useState(false);
    return (
        <Menu
            label={muted ? "Muted" : "Mute"}
            name={`${muted ? "Muted" : "Mute"} ${agent.agent_name}`}
        >
            {(close) => (
                <Asked
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
