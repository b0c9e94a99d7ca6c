// How many runs each value of a filter would leave: a click sets or clears it.

import type { FacetValue, RunFacets } from "api";
import { useState } from "preact/hooks";

import { call, type Query } from "../../lib/api";
import { briefIds, count, exactTime } from "../../lib/format";
import { useLiveQuery } from "../../lib/query";
import { rangeThrough } from "../../lib/ranges";
import { setQuery } from "../../lib/route";

const FACETS = "GET /api/v1/tenants/{slug}/dashboard/facets";
const SHOWN = 5;
const OPEN = "muster.facets"; // kept in the browser
const WIDE = 800; // pixels; on less it begins closed, so that the runs are seen first

export type Filters = Query<typeof FACETS>;

/** Counted for the filters of a list; of older pages they are not live. */
export function useRunFacets(slug: string, filters: Filters, live: boolean) {
    const { since, until, status, agent_name, workflow_run_id, agent_version, q } = filters;
    const { error_type, untyped } = filters;
    const runs = { since, until, status, agent_name, workflow_run_id, agent_version };
    const query = { ...runs, error_type, untyped, q };
    return useLiveQuery(
        live ? slug : "",
        `${FACETS} ${slug} ${JSON.stringify(query)}`,
        (signal) => call(FACETS, { path: { slug }, query, signal }),
        (change) => change.kind === "run",
    ).data;
}

interface FacetProps {
    title: string;
    choose: (value: string | null) => Values; // what changes in the address; null: any value
    counted: Values; // what changes besides, so that the list has the runs that were counted
    values: FacetValue[];
    chosen: string | null | undefined;
    labels?: ReadonlyMap<string, string>; // shorter than the values
}

type Values = Record<string, string | boolean | null>;

/** The error types, and failed runs without one as the value "". */
function errorsOf({ error_type, untyped }: RunFacets, chosen: string | null | undefined) {
    const none = untyped > 0 || chosen === "" ? [{ value: "", runs: untyped }] : [];
    return [...error_type, ...none].sort((a, b) => b.runs - a.runs);
}

const chooseError = (value: string | null): Values => ({
    error_type: value,
    untyped: value === "" || null,
});

const NO_TYPE = new Map([["", "no error type"]]);

function Facet({ title, choose, counted, values, chosen, labels }: FacetProps) {
    const [all, setAll] = useState(false);
    if (values.length === 0) return null;
    const most = Math.max(...values.map((one) => one.runs));
    const shown = values.filter((one, i) => all || i < SHOWN || one.value === chosen);
    return (
        <section class="facet" aria-label={title}>
            <h2>{title}</h2>
            <ul>
                {shown.map(({ value, runs }) => (
                    <li key={value}>
                        <button
                            type="button"
                            aria-pressed={value === chosen}
                            title={value || undefined}
                            onClick={() =>
                                setQuery({
                                    ...(value === chosen
                                        ? choose(null)
                                        : { ...counted, ...choose(value) }),
                                    cursor: null,
                                })
                            }
                        >
                            <i style={{ width: `${(runs / most) * 100}%` }} />
                            <span dir="auto">{labels?.get(value) ?? value}</span>
                            <b>{count(runs)}</b>
                        </button>
                    </li>
                ))}
            </ul>
            {values.length > SHOWN && (
                <button type="button" class="more" onClick={() => setAll(!all)}>
                    {all ? "Show fewer" : `Show ${values.length - SHOWN} more`}
                    <span class="visually-hidden"> of {title}</span>
                </button>
            )}
        </section>
    );
}

function isOpenAtFirst(): boolean {
    try {
        const kept = localStorage.getItem(OPEN);
        return kept === null ? innerWidth >= WIDE : kept === "yes";
    } catch {
        return true; // storage is blocked
    }
}

function keepOpen(open: boolean) {
    try {
        localStorage.setItem(OPEN, open ? "yes" : "no");
    } catch {
        // it holds until the page is closed
    }
}

interface Props {
    facets: RunFacets | undefined;
    filters: Filters;
}

export function FacetPanel({ facets, filters }: Props) {
    const [open] = useState(isOpenAtFirst);
    if (facets === undefined) return null;
    const { agent_name, agent_version, workflow_run_id } = facets;
    const { counted_since, examined_since, others_since, newest_at } = facets;
    const among = (since: string | null): Values =>
        since === null || newest_at === null ? {} : { since: rangeThrough(since, newest_at) };
    const [ofAgent, ofWorkflow] = [filters.agent_name, filters.workflow_run_id];
    const counted = among(examined_since);
    const error = filters.untyped ? "" : filters.error_type;
    if (agent_name.length + agent_version.length === 0) return null;
    return (
        <details
            class="facets"
            open={open}
            onToggle={(event) => keepOpen(event.currentTarget.open)}
        >
            <summary>
                Narrow down{" "}
                <span class="muted">
                    {count(facets.runs)} {facets.runs === 1 ? "run matches" : "runs match"}
                    {counted_since && `, of those since ${exactTime(counted_since)}`}
                </span>
            </summary>
            {examined_since && (
                <p class="hint">
                    The numbers below are of the newest runs, those since{" "}
                    {exactTime(examined_since)}; choosing one shows these.
                </p>
            )}
            <div>
                <Facet
                    title="Agents"
                    choose={(to) => ({ agent_name: to })}
                    counted={ofAgent && !ofWorkflow ? among(others_since) : counted}
                    values={agent_name}
                    chosen={filters.agent_name}
                />
                <Facet
                    title="Error types"
                    choose={chooseError}
                    counted={counted}
                    values={errorsOf(facets, error)}
                    chosen={error}
                    labels={NO_TYPE}
                />
                <Facet
                    title="Versions"
                    choose={(to) => ({ version: to })}
                    counted={counted}
                    values={agent_version}
                    chosen={filters.agent_version}
                />
                <Facet
                    title="Workflow runs"
                    choose={(to) => ({ workflow_run_id: to })}
                    counted={ofWorkflow ? among(others_since) : counted}
                    values={workflow_run_id}
                    chosen={filters.workflow_run_id}
                    labels={briefIds(workflow_run_id.map((one) => one.value))}
                />
            </div>
        </details>
    );
}
