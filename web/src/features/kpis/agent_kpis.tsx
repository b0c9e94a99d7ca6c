// The KPIs an agent declared or reported, with what they came to in a week.

import type { Agent } from "api";

import { call } from "../../lib/api";
import { change, inUnit, percent } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, ErrorNote } from "../../ui/basics";

const SUMMARY = "GET /api/v1/tenants/{slug}/business/summary";
const RANGE = "7d";

const WORDS: Record<string, string> = {
    sum: "summed",
    last: "last value",
    avg: "average",
    max: "highest",
};

export function AgentKpis({ slug, agent }: { slug: string; agent: Agent }) {
    const { data, error } = useQuery(`${SUMMARY} ${slug} ${RANGE}`, (signal) =>
        call(SUMMARY, { path: { slug }, query: { time_range: RANGE }, signal }),
    );
    const kpis = (data?.kpis ?? []).filter((one) => one.agent_name === agent.agent_name);
    if (error) return <ErrorNote error={error} />;
    if (kpis.length === 0) return null;
    return (
        <Card title="KPIs" aside="Last 7 days">
            <table class="list flat">
                <thead>
                    <tr>
                        <th>KPI</th>
                        <th class="number">Value</th>
                        <th class="number">Change</th>
                        <th>Totalled as</th>
                        <th class="wide">Key</th>
                    </tr>
                </thead>
                <tbody>
                    {kpis.map((one) => {
                        const part = change(one.previous, one.value);
                        return (
                            <tr key={one.key}>
                                <td class="grow">
                                    <a
                                        class="row-link"
                                        href={href(pathOf("t", slug, "business"), {
                                            kpi: `${one.agent_name}/${one.key}`,
                                        })}
                                    >
                                        {one.label || one.key}
                                    </a>
                                </td>
                                <td class="fit number">
                                    <b>{inUnit(one.value, one.unit)}</b>
                                </td>
                                <td class="fit number muted">
                                    {part === null
                                        ? "–"
                                        : `${part > 0 ? "▲" : part < 0 ? "▼" : "="} ${percent(Math.abs(part))}`}
                                </td>
                                <td class="fit muted">
                                    {one.declared ? (WORDS[one.agg ?? ""] ?? one.agg) : "undeclared"}
                                </td>
                                <td class="fit wide">
                                    <code>{one.key}</code>
                                </td>
                            </tr>
                        );
                    })}
                </tbody>
            </table>
        </Card>
    );
}
