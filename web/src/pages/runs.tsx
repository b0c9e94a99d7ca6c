// The runs explorer: search, filters and order are kept in the address, and so is the cursor.

import type { FacetValue, RunFacets, RunListItem } from "api";

import { useAgentNames } from "../features/agents/names";
import { FacetPanel, useRunFacets } from "../features/events/run_facets";
import { NoRuns, ORDERS, RunTable } from "../features/events/run_list";
import { SavedViews } from "../features/events/saved_views";
import { RunExport } from "../features/export/run_export";
import { call, type Query } from "../lib/api";
import { chosen } from "../lib/choices";
import { count, exactTime, plural } from "../lib/format";
import type { PageProps } from "../lib/page";
import { useLiveQuery } from "../lib/query";
import { ALL_TIME, chosenRange, isCustom, rangeInWords, RANGES } from "../lib/ranges";
import { pathOf, setQuery } from "../lib/route";
import { useSteady } from "../lib/steady";
import {
    Empty,
    ErrorNote,
    Heading,
    Icon,
    Live,
    Pager,
    PeriodSelect,
    SearchField,
    Segments,
    Skeleton,
    type Sorting,
} from "../ui";

const RUNS = "GET /api/v1/tenants/{slug}/dashboard/runs";
const LIMIT = 50;
const SORTED_LIMIT = 200; // a sorted list has no pages

const STATUSES = [
    { value: "", label: "All" },
    { value: "failed", label: "Failed" },
    { value: "in_progress", label: "Running" },
    { value: "completed", label: "Completed" },
];
const SINCE = [...RANGES, { value: ALL_TIME, label: "All time" }];

type Wanted = Query<typeof RUNS>;

const sinceOf = (query: URLSearchParams) => chosenRange(SINCE, query.get("since"), "7d");

function queryOf(query: URLSearchParams): Wanted {
    const range = sinceOf(query);
    const [from, to] = isCustom(range) ? range.split("/") : [range, null];
    const status = chosen(STATUSES, query.get("status"), "");
    const order = Object.values(ORDERS).find((one) => one === query.get("order")) ?? "started";
    const ascending = query.get("ascending") === "true";
    const sorted = order !== "started" || ascending;
    const untyped = query.get("untyped") === "true";
    return {
        limit: sorted ? SORTED_LIMIT : LIMIT,
        since: range === ALL_TIME ? null : from,
        until: to,
        status: status === "" ? null : (status as RunListItem["status"]),
        agent_name: query.get("agent_name"),
        workflow_run_id: query.get("workflow_run_id"),
        agent_version: query.get("version"),
        error_type: untyped ? null : query.get("error_type"),
        untyped,
        q: query.get("q"),
        order,
        ascending,
        cursor: sorted ? null : query.get("cursor"),
    };
}

/** Without any choice it is sorted by start, so that a click on that heading turns it round. */
function sortingOf(wanted: Wanted): Sorting {
    const [title = ""] = Object.entries(ORDERS).find(([, order]) => order === wanted.order) ?? [];
    return { title, descending: !wanted.ascending };
}

function setSorting(to: Sorting | null) {
    const order = to === null ? null : ORDERS[to.title as keyof typeof ORDERS];
    setQuery({
        order: order === "started" ? null : order,
        ascending: to !== null && !to.descending ? true : null,
        cursor: null,
    });
}

interface FiltersProps {
    slug: string;
    since: string; // a choice, or a range
    wanted: Wanted;
    facets: RunFacets | undefined;
}

const valuesOf = (values: FacetValue[] | undefined) => (values ?? []).map((one) => one.value);

/** The statuses with their numbers of runs. */
function statusesOf(facets: RunFacets | undefined) {
    if (facets === undefined) return STATUSES;
    const runs = new Map(facets.status.map((one) => [one.value, one.runs]));
    const all = facets.status.reduce((sum, one) => sum + one.runs, 0);
    return STATUSES.map(({ value, label }) => ({
        value,
        label: `${label} ${count(value === "" ? all : (runs.get(value) ?? 0))}`,
    }));
}

function Filters({ slug, since, wanted, facets }: FiltersProps) {
    const agents = useAgentNames(slug);
    const change = (changes: Record<string, string | null>, typed = true) =>
        setQuery({ ...changes, cursor: null }, { typed });
    /** A part of a name is not a name yet: nothing would be found at each letter. */
    const changeAgent = (to: string) => {
        const part = agents.some((name) => name !== to && name.includes(to));
        if (to === "" || agents.includes(to) || !part) change({ agent_name: to });
    };
    return (
        <div class="filters">
            <Segments
                label="Status"
                choices={statusesOf(facets)}
                value={wanted.status ?? ""}
                onChange={(status) => change({ status }, false)}
            />
            <SearchField
                label="Search runs"
                placeholder="Search runs"
                value={wanted.q ?? ""}
                onChange={(q) => change({ q: q.slice(0, 64) })}
            />
            <PeriodSelect label="Started in" name="since" choices={SINCE} value={since} />
            <SearchField
                label="Agent"
                placeholder="Agent"
                known={agents}
                value={wanted.agent_name ?? ""}
                onChange={changeAgent}
            />
            <SearchField
                label="Error type"
                placeholder="Error type"
                known={valuesOf(facets?.error_type)}
                value={wanted.error_type ?? ""}
                onChange={(error_type) => change({ error_type, untyped: null })}
            />
            {wanted.untyped && (
                <button type="button" onClick={() => change({ untyped: null }, false)}>
                    No error type <Icon name="close" />
                    <span class="visually-hidden"> (remove this filter)</span>
                </button>
            )}
            <SearchField
                label="Version"
                placeholder="Version"
                known={valuesOf(facets?.agent_version)}
                value={wanted.agent_version ?? ""}
                onChange={(version) => change({ version })}
            />
            <SearchField
                label="Workflow run"
                placeholder="Workflow run"
                known={valuesOf(facets?.workflow_run_id)}
                value={wanted.workflow_run_id ?? ""}
                onChange={(id) => change({ workflow_run_id: id })}
            />
        </div>
    );
}

export default function Runs({ slug, query }: PageProps) {
    const wanted = queryOf(query);
    const older = wanted.cursor !== null;
    const key = `${RUNS} ${slug} ${JSON.stringify(wanted)}`;
    const { data, error, loading, reload } = useLiveQuery(
        older ? "" : slug, // older pages do not change
        key,
        (signal) => call(RUNS, { path: { slug }, query: { ...wanted, include_cost: true }, signal }),
        (change) =>
            change.kind === "run" &&
            (wanted.agent_name === null || wanted.agent_name === change.agent_name),
    );
    const { rows, fresh, show } = useSteady(key, data?.runs, (run) => run.run_id);
    const facets = useRunFacets(slug, wanted, !older);
    const empty = data !== undefined && rows.length === 0;
    return (
        <>
            <Heading title="Runs">
                {!older && <Live />}
                <SavedViews slug={slug} path={pathOf("t", slug, "runs")} query={query} />
                <RunExport slug={slug} range={sinceOf(query)} filters={wanted} />
            </Heading>
            <Filters slug={slug} since={sinceOf(query)} wanted={wanted} facets={facets} />
            <FacetPanel facets={facets} filters={wanted} />
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={12} />}
            <p class="fresh" role="status">
                {fresh > 0 && (
                    <button type="button" onClick={show}>
                        {plural(fresh, "new run")}
                    </button>
                )}
            </p>
            {data?.examined_since && (
                <p class="note">
                    Only the newest runs of {rangeInWords(SINCE, sinceOf(query))} are sorted: those
                    since {exactTime(data.examined_since)}.
                </p>
            )}
            {rows.length > 0 && (
                <RunTable
                    slug={slug}
                    runs={rows}
                    sorting={sortingOf(wanted)}
                    onSort={setSorting}
                />
            )}
            {empty &&
                (data.next === null ? (
                    <NoRuns
                        query={query}
                        since={sinceOf(query)}
                        period={rangeInWords(SINCE, sinceOf(query))}
                    />
                ) : (
                    <Empty title="No matches among the runs searched so far">
                        <p>Older runs may match; continue with Older.</p>
                    </Empty>
                ))}
            <Pager next={data?.next} />
        </>
    );
}
