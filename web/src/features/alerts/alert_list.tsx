// Alerts as a list: filtered, grouped by kind or by agent, acknowledged together.

import type { Alert } from "api";
import { useState } from "preact/hooks";

import { call } from "../../lib/api";
import { type Choice, chosen } from "../../lib/choices";
import { count, plural } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { href, pathOf, setQuery } from "../../lib/route";
import { Empty, Icon, LoadState, Pager, SearchField, Select, Time } from "../../ui";
import { AlertRow } from "./alert_row";
import { AlertText, KINDS, titleOf } from "./alert_text";
import { AcknowledgeDialog } from "./handling";
import { type KnownKpi, useKpisOf } from "./known_kpis";
import { useAlertCounts } from "./open_count";

const ALERTS = "GET /api/v1/tenants/{slug}/alerts";
const PAGE = 200;
const SHOWN = 5; // of a group, at first

const GROUPS: Choice[] = [
    { value: "kind", label: "By kind" },
    { value: "agent", label: "By agent" },
    { value: "none", label: "Not grouped" },
];
const CARE: Choice[] = [
    { value: "", label: "Acknowledged or not" },
    { value: "false", label: "Not acknowledged" },
    { value: "true", label: "Acknowledged" },
];

interface Props {
    slug: string;
    state: Alert["state"];
    query: URLSearchParams;
}

function Filters({ state, query, agents }: Props & { agents: string[] }) {
    const set = (changes: Record<string, string | null>, typed = false) =>
        setQuery({ ...changes, cursor: null }, { typed });
    return (
        <div class="filters">
            <Select
                label="Kind"
                choices={[{ value: "", label: "All kinds" }, ...KINDS]}
                value={chosen(KINDS, query.get("type"), "")}
                onChange={(type) => set({ type })}
            />
            {state === "open" && (
                <Select
                    label="Acknowledged"
                    choices={CARE}
                    value={chosen(CARE, query.get("acknowledged"), "")}
                    onChange={(acknowledged) => set({ acknowledged })}
                />
            )}
            <SearchField
                label="Agent"
                placeholder="Agent"
                value={query.get("agent") ?? ""}
                known={agents}
                onChange={(agent) => set({ agent }, true)}
            />
            <Select
                label="Groups"
                choices={GROUPS}
                value={chosen(GROUPS, query.get("group"), "kind")}
                onChange={(group) => set({ group: group === "kind" ? null : group })}
            />
        </div>
    );
}

interface Group {
    title: string; // empty: not grouped
    alerts: Alert[];
}

function groupsOf(alerts: Alert[], by: string): Group[] {
    if (by === "none") return [{ title: "", alerts }];
    const groups = new Map<string, Alert[]>();
    for (const alert of alerts) {
        const title = by === "agent" ? (alert.agent_name ?? "Whole workspace") : titleOf(alert);
        groups.set(title, [...(groups.get(title) ?? []), alert]);
    }
    return [...groups].map(([title, some]) => ({ title, alerts: some }));
}

const waiting = (alerts: Alert[]) =>
    alerts
        .filter((one) => one.acknowledged_at === null && one.state === "open")
        .map((one) => one.alert_id);

interface GroupProps {
    slug: string;
    group: Group;
    kpis: KnownKpi[];
    onChange: () => void;
    onAcknowledge: (ids: string[]) => void;
}

function AlertGroup({ slug, group, kpis, onChange, onAcknowledge }: GroupProps) {
    const [all, setAll] = useState(false);
    const { title, alerts } = group;
    const shown = all || title === "" ? alerts : alerts.slice(0, SHOWN);
    const ids = waiting(alerts);
    return (
        <section class="alert-group">
            {title !== "" && (
                <header>
                    <h2 dir="auto">
                        {title} <span class="count">{count(alerts.length)}</span>
                    </h2>
                    {ids.length > 1 && (
                        <button
                            type="button"
                            aria-label={`Acknowledge ${ids.length} of ${title}`}
                            onClick={() => onAcknowledge(ids)}
                        >
                            Acknowledge {count(ids.length)}
                        </button>
                    )}
                </header>
            )}
            <ul class="alerts">
                {shown.map((one) => (
                    <AlertRow
                        key={one.alert_id}
                        slug={slug}
                        alert={one}
                        kpis={kpis}
                        onChange={onChange}
                    />
                ))}
            </ul>
            {shown.length < alerts.length && (
                <button type="button" class="plain" onClick={() => setAll(true)}>
                    <Icon name="plus" /> Show all {count(alerts.length)} of {title}
                </button>
            )}
        </section>
    );
}

/** "12 open, 3 not acknowledged" */
function Totals({ slug, state }: { slug: string; state: Alert["state"] }) {
    const counts = useAlertCounts(slug);
    if (state !== "open" || counts === undefined || counts.open === 0) return null;
    const more = counts.complete ? "" : "+";
    return (
        <p class="muted" role="status">
            {count(counts.open)}
            {more} open, {count(counts.unacknowledged)} not acknowledged
        </p>
    );
}

/** A run that failed is no open alert; "none" does not mean that nothing failed. */
function LastFailure({ slug }: { slug: string }) {
    const query = { state: "closed", type: "run.failed", limit: 1 } as const;
    const { data } = useLiveQuery(
        slug,
        `${ALERTS} ${slug} last failure`,
        (signal) => call(ALERTS, { path: { slug }, query, signal }),
        (change) => change.kind === "alert",
    );
    const last = data?.alerts[0];
    if (last === undefined) return null;
    return (
        <p>
            <AlertText slug={slug} alert={last} kpis={[]} /> <Time at={last.opened_at} />.{" "}
            <a href={href(pathOf("t", slug, "alerts"), { tab: "history", type: "run.failed" })}>
                All failed runs
            </a>
        </p>
    );
}

function Nothing({ slug, state, filtered }: Omit<Props, "query"> & { filtered: boolean }) {
    if (filtered) return <Empty title="No alerts match these filters" />;
    return (
        <Empty title={state === "open" ? "No open alerts" : "No alerts yet"}>
            <p>
                An alert opens when an agent with a schedule falls silent, when a run stays open for
                a day, when many of an agent's runs fail, and as the rules say.
            </p>
            {state === "open" && <LastFailure slug={slug} />}
        </Empty>
    );
}

function useAlerts({ slug, state, query }: Props) {
    const type = query.get("type");
    const agent_name = query.get("agent");
    const care = query.get("acknowledged");
    const acknowledged = state !== "open" || !care ? null : care === "true";
    const cursor = query.get("cursor");
    const filtered = Boolean(type || agent_name || acknowledged !== null);
    const loaded = useLiveQuery(
        slug,
        `${ALERTS} ${slug} ${state} ${type} ${agent_name} ${acknowledged} ${cursor}`,
        (signal) =>
            call(ALERTS, {
                path: { slug },
                query: { state, limit: PAGE, cursor, type, agent_name, acknowledged },
                signal,
            }),
        (change) => change.kind === "alert",
    );
    return { loaded, filtered };
}

export function AlertList(props: Props) {
    const { slug, state, query } = props;
    const { loaded, filtered } = useAlerts(props);
    const [chosenIds, setChosenIds] = useState<string[]>([]);
    const { data, reload } = loaded;
    const alerts = data?.alerts ?? [];
    const kpis = useKpisOf(slug, alerts);
    const agents = [...new Set(alerts.flatMap((one) => one.agent_name ?? []))].sort();
    const ids = waiting(alerts);
    return (
        <>
            <Filters {...props} agents={agents} />
            <div class="alerts-head">
                <Totals slug={slug} state={state} />
                {ids.length > 1 && (
                    <button type="button" onClick={() => setChosenIds(ids)}>
                        Acknowledge all {plural(ids.length, "listed alert")}
                    </button>
                )}
            </div>
            <LoadState of={loaded} rows={4} />
            {data && alerts.length === 0 && <Nothing slug={slug} state={state} filtered={filtered} />}
            {groupsOf(alerts, chosen(GROUPS, query.get("group"), "kind")).map(
                (group) =>
                    group.alerts.length > 0 && (
                        <AlertGroup
                            key={group.title}
                            slug={slug}
                            group={group}
                            kpis={kpis}
                            onChange={reload}
                            onAcknowledge={setChosenIds}
                        />
                    ),
            )}
            <Pager next={data?.next} />
            {chosenIds.length > 0 && (
                <AcknowledgeDialog
                    slug={slug}
                    ids={chosenIds}
                    onClose={() => setChosenIds([])}
                    onChange={reload}
                />
            )}
        </>
    );
}
