// Two runs side by side: what each did, measured and gave.

import type { Run, RunNarrative } from "api";
import type { ComponentChildren } from "preact";

import { useRunSpending } from "../features/cost/run_costs";
import {
    compareMetrics,
    compareOutputs,
    compareSteps,
    type Difference,
} from "../features/events/compare";
import { loadRun } from "../features/events/run_events";
import { RunStatus } from "../features/events/run_status";
import { compact, cost, count, duration, number } from "../lib/format";
import type { PageProps } from "../lib/page";
import { runPage } from "../lib/paths";
import { useQuery } from "../lib/query";
import { href, pathOf } from "../lib/route";
import { Card, Empty, Heading, LoadState, Table, Time } from "../ui";

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
    const spending = useRunSpending(slug, [a, b]);
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
        { name: "Tokens", of: (run) => compact(spending.get(run.run_id)?.tokens ?? 0) },
        {
            name: "Cost",
            of: (run) => {
                const spent = spending.get(run.run_id);
                return spent ? cost(spent.cost) : "–";
            },
        },
    ];
    return <Sides title="At a glance" rows={factRows(a, b, facts)} />;
}

function Both({ slug, a, b }: { slug: string; a: RunNarrative; b: RunNarrative }) {
    const outputs = rowsOf(compareOutputs(a, b));
    return (
        <>
            <Facts slug={slug} a={a.run} b={b.run} />
            <Sides title="Steps by category" rows={rowsOf(compareSteps(a, b))} />
            <Sides title="Metrics, last values" rows={rowsOf(compareMetrics(a, b))} />
            <Sides title="Output, what differs" rows={outputs} />
            {(a.next || b.next) && (
                <p class="note">Of a longer run the first 2,000 events are compared.</p>
            )}
        </>
    );
}

export default function Compare({ slug, query }: PageProps) {
    const [a, b] = [query.get("a"), query.get("b")];
    const both = useQuery(a && b ? `compare ${slug} ${a} ${b}` : null, (signal) =>
        Promise.all([loadRun(slug, a ?? "", signal), loadRun(slug, b ?? "", signal)]),
    );
    return (
        <>
            <Heading
                parent={{ label: "Runs", href: href(pathOf("t", slug, "runs")) }}
                title="Compare two runs"
            />
            {a && b ? (
                <LoadState of={both} rows={8} />
            ) : (
                <Empty title="No runs to compare">
                    <p>Open a run and choose Compare with the run before.</p>
                </Empty>
            )}
            {both.data && <Both slug={slug} a={both.data[0]} b={both.data[1]} />}
        </>
    );
}
