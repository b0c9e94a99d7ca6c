// Tokens and what they cost: by day and model, by agent, by class; and what has no price.

import type { UsageGroup } from "api";

import { call } from "../lib/api";
import { compact, cost, count, dollars, percent } from "../lib/format";
import { agentPage } from "../lib/paths";
import { useLiveQuery } from "../lib/query";
import { chosen, PERIODS, wordsOf } from "../lib/ranges";
import { href, setQuery } from "../lib/route";
import { useMay } from "../features/access/session";
import type { PageProps } from "../app/pages";
import {
    Card,
    Copyable,
    Empty,
    ErrorNote,
    Heading,
    Live,
    Segments,
    Select,
    Skeleton,
} from "../ui/basics";
import { Bars, Chart, type Line } from "../ui/chart";
import { Export } from "../features/export/export_menu";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const LINES_MAX = 7;
const TOP = 10;
const DAY_S = 86_400;

const MEASURES = [
    { value: "cost", label: "Cost" },
    { value: "tokens", label: "Tokens" },
];

const tokensOf = (one: UsageGroup) =>
    one.input_tokens + one.output_tokens + one.cache_read_tokens + one.cache_write_tokens;
const measured = (one: UsageGroup, measure: string) =>
    measure === "tokens" ? tokensOf(one) : Number(one.cost ?? 0);

function useUsage(slug: string, range: string, group_by: string) {
    return useLiveQuery(slug, `${USAGE} ${slug} ${range} ${group_by}`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: range, group_by }, signal }),
    );
}

/** Days without use are days too. */
function daysOf(groups: UsageGroup[]): number[] {
    const times = groups
        .map((one) => Date.parse(one.day ?? "") / 1000)
        .filter((time) => !Number.isNaN(time));
    if (times.length === 0) return [];
    const days: number[] = [];
    for (let at = Math.min(...times); at <= Math.max(...times); at += DAY_S) days.push(at);
    return days;
}

/** A line a model, the dearest first; what is beyond the palette is one line. */
function linesOf(groups: UsageGroup[], days: number[], measure: string): Line[] {
    const totals = new Map<string, number>();
    for (const one of groups)
        totals.set(one.model ?? "", (totals.get(one.model ?? "") ?? 0) + measured(one, measure));
    const models = [...totals]
        .filter(([, sum]) => sum > 0)
        .sort((a, b) => b[1] - a[1])
        .map(([model]) => model);
    const named = models.length > LINES_MAX + 1 ? models.slice(0, LINES_MAX) : models;
    const lines = new Map<string, number[]>();
    for (const one of groups) {
        const model = one.model ?? "";
        if (!totals.get(model)) continue;
        const label = named.includes(model) ? model : "others";
        const values = lines.get(label) ?? days.map(() => 0);
        const at = days.indexOf(Date.parse(one.day ?? "") / 1000);
        values[at] = (values[at] ?? 0) + measured(one, measure);
        lines.set(label, values);
    }
    return [...named, "others"]
        .filter((label) => lines.has(label))
        .map((label, i) => ({
            label,
            values: lines.get(label) ?? [],
            colour: label === "others" ? "--c8" : `--c${(i % 8) + 1}`,
        }));
}

function Totals({ total }: { total: UsageGroup }) {
    const read = total.input_tokens + total.cache_read_tokens;
    return (
        <dl class="totals">
            <div class="most">
                <dt>Cost</dt>
                <dd>{cost(total.cost)}</dd>
            </div>
            <div>
                <dt>Calls</dt>
                <dd>{compact(total.calls)}</dd>
            </div>
            <div>
                <dt>Input tokens</dt>
                <dd title={count(total.input_tokens)}>{compact(total.input_tokens)}</dd>
            </div>
            <div>
                <dt>Output tokens</dt>
                <dd title={count(total.output_tokens)}>{compact(total.output_tokens)}</dd>
            </div>
            <div>
                <dt>Cache reads</dt>
                <dd title={count(total.cache_read_tokens)}>{compact(total.cache_read_tokens)}</dd>
            </div>
            <div>
                <dt>Cache writes</dt>
                <dd title={count(total.cache_write_tokens)}>{compact(total.cache_write_tokens)}</dd>
            </div>
            {read > 0 && (
                <div>
                    <dt>Read from cache</dt>
                    <dd>{percent(total.cache_read_tokens / read)}</dd>
                </div>
            )}
        </dl>
    );
}

function Unpriced({ slug, models }: { slug: string; models: string[] }) {
    const { platform } = useMay(slug);
    if (models.length === 0) return null;
    return (
        <div class="note warn">
            <div>
                <p>
                    <strong>
                        {models.length === 1 ? "A model has" : `${models.length} models have`} no
                        price
                    </strong>
                    , so {models.length === 1 ? "its" : "their"} tokens are not in any cost.{" "}
                    {platform ? (
                        <a href={href("/platform", { tab: "prices" })}>Set prices</a>
                    ) : (
                        "Whoever runs the platform can set one."
                    )}
                </p>
                <p class="unpriced">
                    {models.map((model) => (
                        <Copyable key={model} text={model} />
                    ))}
                </p>
            </div>
        </div>
    );
}

function Models({ groups }: { groups: UsageGroup[] }) {
    const rows = [...groups].sort(
        (a, b) => Number(b.cost ?? -1) - Number(a.cost ?? -1) || tokensOf(b) - tokensOf(a),
    );
    return (
        <table class="list">
            <thead>
                <tr>
                    <th>Model</th>
                    <th class="number wide">Calls</th>
                    <th class="number">Input</th>
                    <th class="number">Output</th>
                    <th class="number wide">Cache reads</th>
                    <th class="number wide">Cache writes</th>
                    <th class="number">Cost</th>
                </tr>
            </thead>
            <tbody>
                {rows.map((one) => (
                    <tr key={one.model}>
                        <td>{one.model}</td>
                        <td class="number wide">{compact(one.calls)}</td>
                        <td class="number" data-label="in">
                            {compact(one.input_tokens)}
                        </td>
                        <td class="number" data-label="out">
                            {compact(one.output_tokens)}
                        </td>
                        <td class="number wide">{compact(one.cache_read_tokens)}</td>
                        <td class="number wide">{compact(one.cache_write_tokens)}</td>
                        <td class="number">
                            {one.cost === null ? (
                                <span class="chip warn">no price</span>
                            ) : (
                                cost(one.cost)
                            )}
                        </td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}

export default function Cost({ slug, query }: PageProps) {
    const range = chosen(PERIODS, query.get("range"), "30d");
    const measure = chosen(MEASURES, query.get("measure"), "cost");
    const models = useUsage(slug, range, "model");
    const days = useUsage(slug, range, "day,model");
    const agents = useUsage(slug, range, "agent");
    const times = daysOf(days.data?.groups ?? []);
    const format = measure === "tokens" ? compact : dollars;
    const top = (agents.data?.groups ?? [])
        .map((one) => ({
            label: one.agent_name ?? "",
            value: measured(one, measure),
            href: agentPage(slug, one.agent_name ?? ""),
            note:
                measure === "cost" && one.cost === null
                    ? "no price"
                    : format(measured(one, measure)),
        }))
        .sort((a, b) => b.value - a.value)
        .slice(0, TOP);
    return (
        <>
            <Heading title="Cost">
                <Live />
                <Export
                    slug={slug}
                    what="llm"
                    range={range}
                    words={`Tokens of each report of ${wordsOf(PERIODS, range)}.`}
                />
            </Heading>
            <div class="filters">
                <Select
                    label="Period"
                    choices={PERIODS}
                    value={range}
                    onChange={(to) => setQuery({ range: to })}
                />
                <Segments
                    label="Measure"
                    choices={MEASURES}
                    value={measure}
                    onChange={(to) => setQuery({ measure: to })}
                />
            </div>
            {models.error && <ErrorNote error={models.error} retry={models.reload} />}
            {models.loading && <Skeleton rows={8} />}
            {models.data && models.data.groups.length === 0 && (
                <Empty title="No tokens in this period">
                    <p>
                        Agents report what a run used of a model with{" "}
                        <code>POST /api/v1/telemetry/llm</code>.
                    </p>
                </Empty>
            )}
            {models.data && models.data.groups.length > 0 && (
                <>
                    <Unpriced slug={slug} models={models.data.unpriced} />
                    <Totals total={models.data.total} />
                    {times.length > 0 && (
                        <Card
                            title={
                                measure === "tokens"
                                    ? "Tokens a day, by model"
                                    : "Cost a day, by model"
                            }
                        >
                            <Chart
                                label={`${measure} a day, stacked by model`}
                                kind="stack"
                                times={times}
                                lines={linesOf(days.data?.groups ?? [], times, measure)}
                                format={format}
                                height={260}
                            />
                            {days.data?.truncated && (
                                <p class="hint">
                                    Too much for one chart: the cheapest are left out. Take a
                                    shorter period.
                                </p>
                            )}
                        </Card>
                    )}
                    <Card title="Top agents">
                        <Bars rows={top} format={format} />
                    </Card>
                    <Models groups={models.data.groups} />
                </>
            )}
        </>
    );
}
