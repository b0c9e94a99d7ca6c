// Two runs side by side: what each did, measured and gave.

import type { Run, RunNarrative } from "api";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

import { useRunSpending } from "../features/cost/run_cost";
import { tokensOf } from "../features/cost/usage_table";
import {
    compareMetrics,
    compareOutputs,
    compareSteps,
    type Difference,
} from "../features/events/compare";
import { loadRun } from "../features/events/run_events";
import { RunStatus } from "../features/events/run_status";
import { call, isNotFound } from "../lib/api";
import { compact, cost, count, duration, momentInZone, number } from "../lib/format";
import type { PageProps } from "../lib/page";
import { runPage } from "../lib/paths";
import { useQuery } from "../lib/query";
import { href, pathOf, setQuery } from "../lib/route";
import { useStore } from "../lib/store";
import { zone } from "../lib/zone";
import { Card, Empty, Heading, LoadState, NotFound, Select, Table, Time } from "../ui";

const RUNS = "GET /api/v1/tenants/{slug}/dashboard/runs";
const OFFERED = 50; // of the newest runs

const COMPARED = 2_000; // events of each run

interface Row {
    name: string;
    a: ComponentChildren;
    b: ComponentChildren;
    differs: boolean;
}

function Sides({ title, rows }: { title: string; rows: Row[] }) {
    if (rows.length === 0) return null;
    return (
        <Card title={title}>
            <Table
                class="flat compare"
                rows={rows}
                keyOf={(row) => row.name}
                rowClass={(row) => (row.differs ? "differs" : "")}
                columns={[
                    { title: "", class: "grow", cell: (row) => row.name },
                    { title: "First run", class: "grow", label: "first", cell: (row) => row.a },
                    { title: "Second run", class: "grow", label: "second", cell: (row) => row.b },
                ]}
            />
        </Card>
    );
}

const shown = (value: Difference["a"]) =>
    value === null ? <span class="muted">–</span> : typeof value === "number" ? number(value) : value;

const rowsOf = (differences: Difference[]): Row[] =>
    differences.map(({ name, a, b }) => ({ name, a: shown(a), b: shown(b), differs: a !== b }));

interface Fact {
    name: string;
    of: (run: Run) => ComponentChildren;
    same?: (run: Run) => unknown; // what is compared; what is shown, if left out
}

function factRows(a: Run, b: Run, facts: Fact[]): Row[] {
    return facts.map(({ name, of, same = of }) => ({
        name,
        a: of(a),
        b: of(b),
        differs: same(a) !== same(b),
    }));
}

function Facts({ slug, a, b }: { slug: string; a: Run; b: Run }) {
    const spending = new Map([
        [a.run_id, useRunSpending(slug, a)],
        [b.run_id, useRunSpending(slug, b)],
    ]);
    const orDash = (value: number | null, format: (n: number) => string) =>
        value === null ? "–" : format(value);
    const facts: Fact[] = [
        {
            name: "Run",
            of: (run) => <a href={runPage(slug, run.run_id)}>{run.agent_name}</a>,
            same: (run) => run.agent_name,
        },
        {
            name: "Status",
            of: (run) => <RunStatus status={run.status} />,
            same: (run) => run.status,
        },
        { name: "Started", of: (run) => <Time at={run.started_at} />, same: () => null },
        { name: "Version", of: (run) => run.agent_version || "–" },
        { name: "Duration", of: (run) => orDash(run.duration_ms, duration) },
        { name: "Records", of: (run) => orDash(run.records_processed, count) },
        { name: "Events", of: (run) => count(run.event_count) },
        { name: "Error", of: (run) => run.error_type ?? "–" },
        { name: "Message", of: (run) => run.error_message ?? run.message },
        {
            name: "Tokens",
            of: (run) => {
                const spent = spending.get(run.run_id);
                return spent ? compact(tokensOf(spent.total)) : "–";
            },
        },
        {
            name: "Cost",
            of: (run) => {
                const spent = spending.get(run.run_id);
                return spent && spent.groups.length > 0 ? cost(spent.total.cost) : "–";
            },
        },
    ];
    return <Sides title="At a glance" rows={factRows(a, b, facts)} />;
}

interface OtherProps {
    slug: string;
    label: string;
    name: "a" | "b"; // in the address
    run: Run;
}

/** The run of one side, to exchange for another of its agent. */
function Other({ slug, label, name, run }: OtherProps) {
    const { agent_name } = run;
    useStore(zone);
    const { data } = useQuery(`${RUNS} ${slug} newest of ${agent_name}`, (signal) =>
        call(RUNS, { path: { slug }, query: { agent_name, limit: OFFERED }, signal }),
    );
    const newest = data?.runs ?? [];
    const offered = newest.some((one) => one.run_id === run.run_id) ? newest : [run, ...newest];
    const title = (one: Run) =>
        [momentInZone(one.started_at), one.status.replace("_", " "), one.agent_version]
            .filter(Boolean)
            .join(", ");
    return (
        <Select
            label={label}
            choices={offered.map((one) => ({ value: one.run_id, label: title(one) }))}
            value={run.run_id}
            onChange={(to) => setQuery({ [name]: to })}
        />
    );
}

function Both({ slug, a, b }: { slug: string; a: RunNarrative; b: RunNarrative }) {
    const outputs = rowsOf(compareOutputs(a, b));
    return (
        <>
            <div class="filters">
                <Other slug={slug} label="First run" name="a" run={a.run} />
                <Other slug={slug} label="Second run" name="b" run={b.run} />
            </div>
            <Facts slug={slug} a={a.run} b={b.run} />
            <Sides title="Steps by category" rows={rowsOf(compareSteps(a, b))} />
            <Sides title="Metrics, last values" rows={rowsOf(compareMetrics(a, b))} />
            <Sides title="Output, what differs" rows={outputs} />
            {(a.next || b.next) && (
                <p class="note">Of a longer run the first {count(COMPARED)} events are compared.</p>
            )}
        </>
    );
}

export default function Compare({ slug, query }: PageProps) {
    const [a, b] = [query.get("a"), query.get("b")];
    const both = useQuery(a && b ? `compare ${slug} ${a} ${b}` : null, (signal) =>
        Promise.all([a, b].map((id) => loadRun(slug, id ?? "", signal, COMPARED))),
    );
    const shown = useRef(both.data); // until the next two are loaded, so that the focus stays
    if (both.data) shown.current = both.data;
    const [first, second] = shown.current ?? [];
    const runs = href(pathOf("t", slug, "runs"));
    if (isNotFound(both.error))
        return (
            <NotFound title="Run not found" back={{ label: "Go to the runs", href: runs }}>
                <p>One of the two runs to compare is not there. It may have been deleted by retention.</p>
            </NotFound>
        );
    return (
        <>
            <Heading parent={{ label: "Runs", href: runs }} title="Compare two runs" />
            {a && b ? (
                (both.error || !first) && <LoadState of={both} rows={8} />
            ) : (
                <Empty title="No runs to compare">
                    <p>Open a run and choose Compare with the run before.</p>
                </Empty>
            )}
            {first && second && <Both slug={slug} a={first} b={second} />}
        </>
    );
}
