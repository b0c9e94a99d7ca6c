// The business values that a run reported.

import { call } from "../../lib/api";
import { inUnit } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, ErrorNote, Fact } from "../../ui";
import { idOf } from "./names";

const KPIS = "GET /api/v1/tenants/{slug}/runs/{run_id}/business";

/** `version` changes when the run does, so that values of a running one are loaded again. */
export function RunKpis({ slug, run_id, version }: { slug: string; run_id: string; version: string }) {
    const { data, error } = useQuery(`${KPIS} ${slug} ${run_id} ${version}`, (signal) =>
        call(KPIS, { path: { slug, run_id }, signal }),
    );
    if (error) return <ErrorNote error={error} />;
    if (!data || data.kpis.length === 0) return null;
    return (
        <Card title="Business values">
            <dl class="facts">
                {data.kpis.map((kpi) => (
                    <Fact key={`${kpi.agent_name} ${kpi.key}`} label={kpi.label ?? kpi.key}>
                        <a href={href(pathOf("t", slug, "business"), { kpi: idOf(kpi) })}>
                            {inUnit(kpi.value, kpi.unit)}
                        </a>
                    </Fact>
                ))}
            </dl>
        </Card>
    );
}
