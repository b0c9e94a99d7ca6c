// The home of a workspace: what happens, what is wrong and what it costs. Every number leads to its
// list.

import type { ComponentChildren } from "preact";

import { useRoles } from "../features/access/session";
import { FirstEvent } from "../features/fleet/first_event";
import {
    AgentsByState,
    MovedKpis,
    OpenAlerts,
    RunsChart,
    TopErrors,
} from "../features/overview/cards";
import { forecast, movedOf, sumsOf } from "../features/overview/numbers";
import { Tour } from "../features/overview/tour";
import { RecentMessages } from "../features/webhooks/recent_messages";
import { call } from "../lib/api";
import { useNow } from "../lib/clock";
import { cost, count, dollars, percent } from "../lib/format";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { chosenRange, countedRange } from "../lib/ranges";
import { href, pathOf } from "../lib/route";
import { Heading, Live, LoadState, PeriodSelect } from "../ui";

const TOTALS = "GET /api/v1/tenants/{slug}/dashboard/totals";
const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const ALERTS = "GET /api/v1/tenants/{slug}/alerts";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const SUMMARY = "GET /api/v1/tenants/{slug}/business/summary";
const ALERTS_SHOWN = 5;
const SLOW_MS = 60_000; // a forecast changes little

const PERIODS = [
    { value: "24h", label: "Last 24 hours" },
    { value: "7d", label: "Last 7 days" },
    { value: "30d", label: "Last 30 days" },
];

/** A number and the list that it leads to. */
function Tile(props: { label: string; to: string; class?: string; children: ComponentChildren }) {
    return (
        <a class={`tile ${props.class ?? ""}`} href={props.to}>
            <span>{props.label}</span>
            <b>{props.children}</b>
        </a>
    );
}

function useUsage(slug: string, time_range: string, wants = () => false) {
    const query = { time_range, group_by: "day" };
    return useLiveQuery(
        slug,
        `${USAGE} ${slug} ${time_range} day`,
        (signal) => call(USAGE, { path: { slug }, query, signal }),
        wants,
        SLOW_MS,
    ).data;
}

function CostTiles({ slug }: { slug: string }) {
    const now = useNow();
    const today = useUsage(slug, "today", () => true);
    const month = useUsage(slug, "this_month");
    const days = useUsage(slug, "30d");
    const end = month && days ? forecast(month, days, now) : undefined;
    const to = (range: string) => href(pathOf("t", slug, "cost"), { range });
    return (
        <>
            <Tile label="Cost today (UTC)" to={to("today")}>
                {today === undefined ? "…" : today.groups.length === 0 ? "–" : cost(today.total.cost)}
            </Tile>
            <Tile label="Forecast to month end" to={to("this_month")}>
                {end === undefined ? "…" : end === null ? "–" : dollars(end)}
            </Tile>
        </>
    );
}

function Workspace({ slug, range }: { slug: string; range: string }) {
    const totals = useLiveQuery(
        slug,
        `${TOTALS} ${slug} ${range}`,
        (signal) => call(TOTALS, { path: { slug }, query: { time_range: range }, signal }),
        (change) => change.kind === "run",
    );
    const agents = useLiveQuery(slug, `${AGENTS} ${slug} counts`, (signal) =>
        call(AGENTS, { path: { slug }, query: { order: "trouble", limit: 1 }, signal }),
    );
    const alerts = useLiveQuery(
        slug,
        `${ALERTS} ${slug} open ${ALERTS_SHOWN}`,
        (signal) =>
            call(ALERTS, { path: { slug }, query: { state: "open", limit: ALERTS_SHOWN }, signal }),
        (change) => change.kind === "alert",
    );
    const kpis = useLiveQuery(slug, `${SUMMARY} ${slug} ${range}`, (signal) =>
        call(SUMMARY, { path: { slug }, query: { time_range: range }, signal }),
    );
    const { admin } = useRoles(slug);
    const counts = agents.data?.counts;
    const sums = totals.data && sumsOf(totals.data);
    const since = countedRange(range, totals.data?.counted_since ?? null, Date.now());
    const page = (name: string, query = {}) => href(pathOf("t", slug, name), query);
    if (counts && Object.values(counts).every((n) => n === 0)) return <FirstEvent slug={slug} />;
    return (
        <>
            <div class="filters">
                <PeriodSelect choices={PERIODS} value={range} />
            </div>
            <Tour slug={slug} />
            <div class="tiles">
                <Tile
                    label="Silent or late agents"
                    to={page("fleet", { state: counts && counts.silent === 0 ? "late" : "silent" })}
                    class={counts && counts.silent > 0 ? "bad" : ""}
                >
                    {counts ? count(counts.silent || counts.late) : "…"}
                    {counts && counts.silent > 0 && counts.late > 0 && (
                        <small> silent, {count(counts.late)} late</small>
                    )}
                </Tile>
                <Tile label="Runs" to={page("runs", { since })}>
                    {sums ? count(sums.runs) : "…"}
                </Tile>
                <Tile label="Failed runs" to={page("runs", { since, status: "failed" })}>
                    {sums ? count(sums.failed) : "…"}
                    {sums && sums.rate !== null && <small> {percent(sums.rate)}</small>}
                </Tile>
                <CostTiles slug={slug} />
            </div>
            <LoadState of={totals} rows={8} />
            {totals.data && <RunsChart totals={totals.data} at={totals.at} range={range} />}
            <div class="overview">
                <div>
                    {alerts.data && <OpenAlerts slug={slug} alerts={alerts.data.alerts} />}
                    {admin && <RecentMessages slug={slug} />}
                </div>
                <div>
                    {counts && <AgentsByState slug={slug} counts={counts} />}
                    {totals.data && <TopErrors slug={slug} totals={totals.data} since={since} />}
                </div>
                <div>
                    {kpis.data && (
                        <MovedKpis slug={slug} kpis={movedOf(kpis.data.kpis)} range={range} />
                    )}
                </div>
            </div>
        </>
    );
}

export default function Overview({ slug, query }: PageProps) {
    const range = chosenRange(PERIODS, query.get("range"), "7d");
    return (
        <>
            <Heading title="Overview">
                <Live />
            </Heading>
            <Workspace key={slug} slug={slug} range={range} />
        </>
    );
}
