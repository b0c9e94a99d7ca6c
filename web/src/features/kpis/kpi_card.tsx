// One KPI as a card: its value, its change, its cost per unit and its trend.

import type { KpiTotal } from "api";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { call } from "../../lib/api";
import { costPerUnit, inUnit } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { edgesOf } from "../../lib/ranges";
import { setQuery } from "../../lib/route";
import { Sparkline } from "../../ui/figures";
import { changeOf } from "./change";
import { idOf, nameOf } from "./names";

const SERIES = "GET /api/v1/tenants/{slug}/business/series";

function Change({ kpi }: { kpi: KpiTotal }) {
    const text = changeOf(kpi);
    if (kpi.previous === null) return <span class="change muted">not in the period before</span>;
    return (
        <span class="change" title={`${inUnit(kpi.previous, kpi.unit)} in the period before`}>
            {text ?? `${inUnit(kpi.previous, kpi.unit)} before`}
        </span>
    );
}

/** Was the element ever on screen? There may be thousands of KPIs, and each trend is a request. */
function useSeen(element: RefObject<HTMLElement | null>): boolean {
    const [seen, setSeen] = useState(false);
    useEffect(() => {
        const observer = new IntersectionObserver((entries) => {
            if (!entries.some((one) => one.isIntersecting)) return;
            observer.disconnect();
            setSeen(true);
        });
        if (element.current) observer.observe(element.current);
        return () => observer.disconnect();
    }, [element]);
    return seen;
}

/** A small line needs few points. */
const bucketOf = (range: string) => (["24h", "today"].includes(range) ? "hour" : "day");

interface KpiRange {
    slug: string;
    kpi: KpiTotal;
    range: string;
}

function Trend({ slug, kpi, range, load }: KpiRange & { load: boolean }) {
    const { agent_name, key } = kpi;
    const { data, at, reload } = useQuery(
        load && typeof kpi.value === "number" ? `${SERIES} ${slug} ${idOf(kpi)} ${range}` : null,
        (signal) =>
            call(SERIES, {
                path: { slug },
                query: { agent_name, key, time_range: range, bucket: bucketOf(range) },
                signal,
            }),
    );
    const reports = useRef(kpi.reports);
    useEffect(() => {
        if (reports.current !== kpi.reports) reload(); // keep the trend in step with the value
        reports.current = kpi.reports;
    }, [kpi.reports]);
    const points = (data?.points ?? []).filter((point) => typeof point.value === "number");
    const times = points.map((point) => Date.parse(point.t) / 1000);
    return (
        <Sparkline
            values={points.map((point) => point.value as number)}
            edges={data && edgesOf(range, times, data.bucket, at)}
            label={`Trend of ${nameOf(kpi)}`}
        />
    );
}

const NOTHING = 1e-12; // dollars per unit: not a cent for a thousand million

/** The model cost per unit of a sum; null for what cannot be divided. */
export function unitCost(kpi: KpiTotal, spent: number | undefined): string | null {
    if (spent === undefined || kpi.agg !== "sum" || typeof kpi.value !== "number" || kpi.value <= 0)
        return null;
    const each = spent / kpi.value;
    return each < NOTHING ? null : costPerUnit(each, kpi.unit);
}

interface KpiCardProps extends KpiRange {
    selected: boolean;
    spent: number | undefined; // by its agent on models
    compared: boolean; // there are values of the period before, of this or other KPIs
}

export function KpiCard({ slug, kpi, range, selected, spent, compared }: KpiCardProps) {
    const perUnit = unitCost(kpi, spent);
    const card = useRef<HTMLButtonElement>(null);
    const seen = useSeen(card);
    return (
        <button
            ref={card}
            type="button"
            class="kpi"
            aria-pressed={selected}
            onClick={() => setQuery({ kpi: selected ? null : idOf(kpi), by: null })}
        >
            <span class="name" dir="auto" title={kpi.key}>
                {nameOf(kpi)}
            </span>
            <span class="of" dir="auto">{kpi.agent_name}</span>
            <span class="value">{inUnit(kpi.value, kpi.unit)}</span>
            <span class="notes">
                {compared && <Change kpi={kpi} />}
                {perUnit !== null && <span>{perUnit}</span>}
                {!kpi.declared && (
                    <span title="Reported, but not declared at registration">undeclared</span>
                )}
            </span>
            <Trend slug={slug} kpi={kpi} range={range} load={seen} />
        </button>
    );
}
