// An alert in words.

import type { Alert } from "api";
import type { ComponentChildren } from "preact";

import type { Choice } from "../../lib/choices";
import { cost, duration, interval, inUnit, number, percent } from "../../lib/format";
import { agentPage, runPage } from "../../lib/paths";
import { href, pathOf } from "../../lib/route";
import { Time } from "../../ui";
import { knownAs, type KnownKpi } from "./known_kpis";

const TITLES = new Map(Object.entries({
    "agent.silent": "Silent agent",
    "run.stuck": "Stuck run",
    "run.failed": "Failed run",
    "kpi.crossed": "KPI out of limits",
    "budget.exceeded": "Budget exceeded",
    "budget.forecast": "Budget forecast",
    "agent.failing": "Failing agent",
    "failure_rate.exceeded": "Failure rate",
    "duration.exceeded": "Slow runs",
}));

/** To choose from. */
export const KINDS: Choice[] = [...TITLES].map(([value, label]) => ({ value, label }));

export const titleOf = (alert: Alert) => TITLES.get(alert.type) ?? alert.type;

function detailOf(alert: Alert, name: string): string {
    const value = alert.detail[name];
    return typeof value === "number" ? number(value) : typeof value === "string" ? value : "";
}

/** "Tickets sorted, last 24 h: 1,803 (limit 100)": by its label and in its unit, if it is declared. */
function KpiText({ slug, alert, kpis, agent }: TextProps & { agent: ComponentChildren }) {
    const key = detailOf(alert, "key");
    const known = knownAs(kpis, key, alert.agent_name);
    const written = (name: string) =>
        typeof alert.detail[name] === "number"
            ? inUnit(alert.detail[name], known?.unit)
            : detailOf(alert, name);
    const limits = [
        ["minimum", written("below")],
        ["limit", written("above")],
    ].filter(([, bound]) => bound !== "");
    return (
        <>
            <a href={href(pathOf("t", slug, "business"), { q: key })} dir="auto">
                {known?.label ?? key}
            </a>
            {agent && <> of {agent}</>}, last {spaced(detailOf(alert, "range"))}: {written("value")} (
            {limits.map((limit) => limit.join(" ")).join(", ")})
        </>
    );
}

/** "24h" as "24 h" */
const spaced = (range: string) => range.replace(/^(\d+)(\w)$/, "$1 $2");

function intervalOf(alert: Alert): string {
    const seconds = alert.detail["interval_seconds"];
    if (typeof seconds === "number") return `expected every ${interval(seconds)}, `;
    const cron = detailOf(alert, "cron");
    return cron === "" ? "" : `expected at ${cron} (${detailOf(alert, "time_zone")}), `;
}

interface Props {
    slug: string;
    alert: Alert;
}

interface TextProps extends Props {
    kpis: KnownKpi[]; // for alerts about them
}

const numberOf = (alert: Alert, name: string) => Number(alert.detail[name] ?? 0);

const secondsOf = (alert: Alert, name: string) => duration(numberOf(alert, name) * 1000);

/** "9 of the last 20 runs (45 %)", which leads to them. */
function FailedRuns({ slug, alert }: Props) {
    const [failed, runs] = [numberOf(alert, "failed"), numberOf(alert, "runs")];
    return (
        <a
            href={href(pathOf("t", slug, "runs"), {
                agent_name: alert.agent_name,
                status: "failed",
                since: "all",
            })}
        >
            {failed} of the last {runs} runs ({percent(runs === 0 ? 0 : failed / runs)})
        </a>
    );
}

function RunLink({ slug, alert }: Props) {
    return <a href={runPage(slug, alert.run_id ?? "")}>A run</a>;
}

/** " with small", where the budget is of one model. */
function WithModel({ alert }: { alert: Alert }) {
    const model = detailOf(alert, "model");
    if (model === "") return null;
    return (
        <>
            {" "}
            with <bdi>{model}</bdi>
        </>
    );
}

export function AlertText({ slug, alert, kpis }: TextProps): ComponentChildren {
    const open = alert.state === "open";
    const agent = alert.agent_name !== null && (
        <a href={agentPage(slug, alert.agent_name)} dir="auto">
            {alert.agent_name}
        </a>
    );
    switch (alert.type) {
        case "agent.silent":
            return (
                <>
                    {agent} {open ? "is" : "was"} silent: {intervalOf(alert)}last seen{" "}
                    <Time at={alert.since_at} />
                </>
            );
        case "run.stuck":
            return (
                <>
                    <RunLink slug={slug} alert={alert} /> of {agent} started{" "}
                    <Time at={alert.since_at} /> and{" "}
                    {open ? "has not ended" : "did not end in time"}
                </>
            );
        case "run.failed":
            return (
                <>
                    <RunLink slug={slug} alert={alert} /> of {agent} failed:{" "}
                    <bdi>{detailOf(alert, "error_type") || detailOf(alert, "message")}</bdi>{" "}
                    <span class="muted" dir="auto">
                        {detailOf(alert, "error_message")}
                    </span>
                </>
            );
        case "agent.failing":
            return (
                <>
                    {agent}: <FailedRuns slug={slug} alert={alert} /> failed
                    {detailOf(alert, "error_type") !== "" && (
                        <>
                            , last with{" "}
                            <a href={runPage(slug, detailOf(alert, "run_id"))} dir="auto">
                                {detailOf(alert, "error_type")}
                            </a>
                        </>
                    )}
                </>
            );
        case "failure_rate.exceeded":
            return (
                <>
                    {agent || "All agents"}: <FailedRuns slug={slug} alert={alert} /> failed (limit{" "}
                    {detailOf(alert, "percent")} %)
                </>
            );
        case "duration.exceeded":
            return (
                <>
                    {agent || "All agents"}: p{detailOf(alert, "percentile")} of the last{" "}
                    {detailOf(alert, "runs")} runs took {secondsOf(alert, "value")} (limit{" "}
                    {secondsOf(alert, "seconds")})
                </>
            );
        case "kpi.crossed":
            return <KpiText slug={slug} alert={alert} kpis={kpis} agent={agent} />;
        case "budget.forecast":
            return (
                <>
                    <a href={href(pathOf("t", slug, "cost"))}>Model cost</a>
                    {agent && <> of {agent}</>}
                    <WithModel alert={alert} /> by the end
                    of {open ? "this" : "that"} month: {cost(detailOf(alert, "forecast"))} at the
                    present rate, over the monthly budget of {cost(detailOf(alert, "amount"))}
                </>
            );
        case "budget.exceeded": {
            const daily = detailOf(alert, "per") === "day";
            const when = daily ? (open ? "today" : "that day") : open ? "this month" : "that month";
            return (
                <>
                    <a href={href(pathOf("t", slug, "cost"))}>Model cost</a>
                    {agent && <> of {agent}</>}
                    <WithModel alert={alert} /> {when}:{" "}
                    {cost(detailOf(alert, "cost"))}, over the {daily ? "daily" : "monthly"} budget
                    of {cost(detailOf(alert, "amount"))}
                    {open && alert.detail["hard"] === true && (
                        <>; {agent ? "the agent is" : "agents are"} told to stop</>
                    )}
                </>
            );
        }
        default:
            return agent || alert.type;
    }
}
