// The cards of the overview. Every number leads to its list.

import type { Alert, AgentCounts, KpiTotal, RunTotals } from "api";

import { count, inUnit } from "../../lib/format";
import { countedPeriods, edgesOf, rangeOfSeconds } from "../../lib/ranges";
import { href, pathOf, setQuery } from "../../lib/route";
import { Card, Empty, Table, Time } from "../../ui";
import { Bars } from "../../ui/figures";
import { StackChart } from "../../ui/stack";
import { AGENT_STATES, AgentState } from "../agents/state";
import { AlertText } from "../alerts/alert_text";
import { useKpisOf } from "../alerts/known_kpis";
import { changeOf } from "../kpis/change";
import { idOf, nameOf } from "../kpis/names";
import { sumsOf } from "./numbers";

interface RunsProps {
    totals: RunTotals;
    at: number; // when the service answered with them
    range: string;
}

export function RunsChart({ totals, at, range }: RunsProps) {
    const { bucket, counted_since } = totals;
    const periods = countedPeriods(totals);
    const times = periods.map((period) => Date.parse(period.t) / 1000);
    const line = (label: string, colour: string, values: number[]) => ({ label, colour, values });
    return (
        <Card title={`Runs per ${bucket}`}>
            {sumsOf(totals).runs === 0 ? (
                <Empty title="No runs in this period" />
            ) : (
                <StackChart
                    label={`Runs per ${bucket} by status`}
                    times={times}
                    bucket={bucket}
                    edges={edgesOf(range, times, bucket, at, counted_since)}
                    onZoom={(from, to) => setQuery({ range: rangeOfSeconds(from, to) })}
                    lines={[
                        line("Failed", "--bad", periods.map((period) => period.failed)),
                        line("Completed", "--c2", periods.map((period) => period.completed)),
                        line("Running", "--busy", periods.map((period) => period.in_progress)),
                    ]}
                />
            )}
            {totals.truncated && <p class="hint">Only the newest 100,000 runs are counted.</p>}
        </Card>
    );
}

export function AgentsByState({ slug, counts }: { slug: string; counts: AgentCounts }) {
    const rows = AGENT_STATES.map(({ state }) => ({
        state,
        n: counts[state as keyof AgentCounts] ?? 0,
    })).filter(({ n }) => n > 0);
    return (
        <Card title="Agents" aside={<a href={href(pathOf("t", slug, "fleet"))}>Fleet</a>}>
            <Table
                class="flat"
                rows={rows}
                keyOf={({ state }) => state}
                columns={[
                    { title: "State", cell: ({ state }) => <AgentState state={state} /> },
                    {
                        title: "Agents",
                        class: "fit number",
                        cell: ({ state, n }) => (
                            <a class="row-link" href={href(pathOf("t", slug, "fleet"), { state })}>
                                {count(n)}
                            </a>
                        ),
                    },
                ]}
            />
        </Card>
    );
}

export function OpenAlerts({ slug, alerts }: { slug: string; alerts: Alert[] }) {
    const kpis = useKpisOf(slug, alerts);
    return (
        <Card title="Open alerts" aside={<a href={href(pathOf("t", slug, "alerts"))}>Alerts</a>}>
            {alerts.length === 0 ? (
                <p class="muted">No open alerts</p>
            ) : (
                <ul class="lines">
                    {alerts.map((alert) => (
                        <li key={alert.alert_id}>
                            <span dir="auto">
                                <AlertText slug={slug} alert={alert} kpis={kpis} />
                            </span>
                            <Time at={alert.opened_at} />
                        </li>
                    ))}
                </ul>
            )}
        </Card>
    );
}

interface ErrorsProps {
    slug: string;
    totals: RunTotals;
    since: string;
}

export function TopErrors({ slug, totals, since }: ErrorsProps) {
    const failed = href(pathOf("t", slug, "runs"), { status: "failed", since });
    return (
        <Card title="Top errors" aside={<a href={failed}>Failed runs</a>}>
            {totals.errors.length === 0 ? (
                <p class="muted">No failed runs in this period</p>
            ) : (
                <Bars
                    rows={totals.errors.map((one) => ({
                        label: one.error_type || "no error type",
                        value: one.runs,
                        href: href(pathOf("t", slug, "runs"), {
                            status: "failed",
                            since,
                            error_type: one.error_type,
                            untyped: one.error_type === "" || null,
                        }),
                    }))}
                    format={count}
                />
            )}
        </Card>
    );
}

interface MovedProps {
    slug: string;
    kpis: KpiTotal[];
    range: string;
}

export function MovedKpis({ slug, kpis, range }: MovedProps) {
    const business = pathOf("t", slug, "business");
    return (
        <Card title="KPIs that moved" aside={<a href={href(business, { range })}>Business</a>}>
            {kpis.length === 0 ? (
                <p class="muted">No KPI changed by 5 % or more since the period before</p>
            ) : (
                <Table
                    class="flat"
                    rows={kpis}
                    keyOf={idOf}
                    columns={[
                        {
                            title: "KPI",
                            class: "grow",
                            cell: (kpi) => (
                                <>
                                    <a
                                        class="row-link"
                                        href={href(business, { range, kpi: idOf(kpi) })}
                                        dir="auto"
                                    >
                                        {nameOf(kpi)}
                                    </a>{" "}
                                    <small class="muted" dir="auto">
                                        {kpi.agent_name}
                                    </small>
                                </>
                            ),
                        },
                        {
                            title: "Value",
                            class: "fit number",
                            cell: (kpi) => <b>{inUnit(kpi.value, kpi.unit)}</b>,
                        },
                        { title: "Change", class: "fit number", cell: (kpi) => changeOf(kpi) },
                    ]}
                />
            )}
        </Card>
    );
}
