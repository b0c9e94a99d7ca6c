// The runs that reported a KPI, with their values.

import type { KpiTotal } from "api";
import { useEffect, useRef } from "preact/hooks";

import { call } from "../../lib/api";
import { count, inUnit, plural, shortId } from "../../lib/format";
import { runPage } from "../../lib/paths";
import { useQuery } from "../../lib/query";
import { Card, LoadState, Table, Time } from "../../ui";

const REPORTS = "GET /api/v1/tenants/{slug}/business/reports";
const LIMIT = 1000;

interface Props {
    slug: string;
    kpi: KpiTotal;
    range: string;
}

export function KpiReports({ slug, kpi, range }: Props) {
    const { agent_name, key } = kpi;
    const query = { agent_name, key, time_range: range, limit: LIMIT };
    const reports = useQuery(
        `${REPORTS} ${slug} ${JSON.stringify(query)}`,
        async (signal) => {
            const answer = await call(REPORTS, { path: { slug }, query, signal });
            return { ...answer, counted: kpi.reports };
        },
    );
    const counted = reports.data?.counted; // when the list was asked for
    useEffect(() => {
        if (counted !== undefined && counted !== kpi.reports) reports.reload();
    }, [counted, kpi.reports]);
    const rows = reports.data?.reports ?? [];
    const top = useRef<HTMLDivElement>(null);
    const there = reports.data !== undefined;
    const scrolled = useRef(false);
    useEffect(() => {
        if (!there || scrolled.current) return;
        scrolled.current = true;
        top.current?.scrollIntoView({ block: "nearest" }); // it is below a chart
    }, [there]);
    return (
        <div ref={top}>
            <Card
                title="Runs that reported it"
                aside={
                    reports.data &&
                    (reports.data.truncated ? `The newest ${count(rows.length)}` : plural(rows.length, "run"))
                }
            >
                <LoadState of={reports} rows={4} />
                {rows.length > 0 && (
                    <Table
                        class="flat"
                        rows={rows}
                        keyOf={(report) => report.run_id}
                        columns={[
                            {
                                title: "Run",
                                class: "grow",
                                cell: (report) => (
                                    <a class="row-link code" href={runPage(slug, report.run_id)}>
                                        {shortId(report.run_id)}
                                    </a>
                                ),
                            },
                            {
                                title: "Reported",
                                class: "fit",
                                cell: (report) => <Time at={report.at} />,
                            },
                            {
                                title: "Value",
                                class: "fit number",
                                cell: (report) => inUnit(report.value, kpi.unit),
                            },
                        ]}
                    />
                )}
                {reports.data && rows.length < reports.data.counted && !reports.data.truncated && (
                    <p class="hint">Older reports were deleted; their totals are kept.</p>
                )}
            </Card>
        </div>
    );
}
