// The KPIs that an agent declared or reported, with their values of the last week.

import type { Agent, KpiTotal } from "api";

import { call } from "../../lib/api";
import { inUnit } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, ErrorNote, Table } from "../../ui";
import { changeOf } from "./change";
import { idOf, nameOf } from "./names";

const SUMMARY = "GET /api/v1/tenants/{slug}/business/summary";
const RANGE = "7d";

// a map: names that agents send, such as "__proto__", are not in it
const AGGREGATIONS = new Map<string, string>([
    ["sum", "sum"],
    ["last", "last value"],
    ["avg", "average"],
    ["max", "maximum"],
]);

function aggregationOf(kpi: KpiTotal): string | null | undefined {
    return kpi.declared ? (AGGREGATIONS.get(kpi.agg ?? "") ?? kpi.agg) : "undeclared";
}

export function AgentKpis({ slug, agent }: { slug: string; agent: Agent }) {
    const { data, error } = useLiveQuery(
        slug,
        `${SUMMARY} ${slug} ${RANGE}`,
        (signal) => call(SUMMARY, { path: { slug }, query: { time_range: RANGE }, signal }),
        (change) => change.agent_name === agent.agent_name,
    );
    const kpis = (data?.kpis ?? []).filter((one) => one.agent_name === agent.agent_name);
    if (error && !data) return <ErrorNote error={error} />;
    if (kpis.length === 0) return null;
    return (
        <Card title="KPIs" aside="Last 7 days">
            <Table
                class="flat"
                rows={kpis}
                keyOf={(kpi) => kpi.key}
                columns={[
                    {
                        title: "KPI",
                        class: "grow",
                        cell: (kpi) => (
                            <a
                                class="row-link"
                                href={href(pathOf("t", slug, "business"), { kpi: idOf(kpi) })}
                            >
                                {nameOf(kpi)}
                            </a>
                        ),
                    },
                    {
                        title: "Value",
                        class: "fit number",
                        cell: (kpi) => <b>{inUnit(kpi.value, kpi.unit)}</b>,
                    },
                    {
                        title: "Change",
                        class: "fit number muted",
                        cell: (kpi) => changeOf(kpi) ?? "–",
                    },
                    { title: "Aggregation", class: "fit muted", cell: aggregationOf },
                    { title: "Key", class: "fit wide", cell: (kpi) => <code>{kpi.key}</code> },
                ]}
            />
        </Card>
    );
}
