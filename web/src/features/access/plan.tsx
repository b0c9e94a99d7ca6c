// The plan of a workspace, and how much of it is used.

import { call } from "../../lib/api";
import { bytes, cost, count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, Copyable, ErrorNote, Fact, LoadState, Time } from "../../ui";
import { useRoles } from "./session";

const TENANT = "GET /api/v1/tenants/{slug}";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";

function Gauge({ part, of }: { part: number; of: number }) {
    return (
        <div class="gauge">
            <i style={{ width: `${Math.min(100, (100 * part) / of)}%` }} />
        </div>
    );
}

export function Plan({ slug }: { slug: string }) {
    const { platform } = useRoles(slug);
    const tenant = useQuery(`${TENANT} ${slug}`, (signal) =>
        call(TENANT, { path: { slug }, signal }),
    );
    const usage = useQuery(`${USAGE} ${slug} month`, (signal) =>
        call(USAGE, {
            path: { slug },
            query: { time_range: "this_month", group_by: "model" },
            signal,
        }),
    );
    const { data } = tenant;
    const total = usage.data?.total;
    return (
        <Card title="Plan and usage">
            <LoadState of={tenant} rows={3} />
            {data && (
                <dl class="facts">
                    <Fact label="Agents">
                        {count(data.agents)} <span class="muted">of {count(data.max_agents)}</span>
                        <Gauge part={data.agents} of={data.max_agents} />
                    </Fact>
                    <Fact label="Requests per minute per key">{count(data.rate_limit)}</Fact>
                    <Fact label="Stored reports">
                        {bytes(data.stored_bytes)}{" "}
                        {data.max_bytes > 0 && (
                            <>
                                <span class="muted">of {bytes(data.max_bytes)}</span>
                                <Gauge part={data.stored_bytes} of={data.max_bytes} />
                            </>
                        )}
                    </Fact>
                    {data.max_bytes > 0 && data.stored_bytes >= data.max_bytes && (
                        <Fact label="Quota reached">
                            New reports are refused. Shorten the{" "}
                            <a href={href(pathOf("t", slug, "settings"), { tab: "retention" })}>retention</a>
                            {", "}or have the plan changed.
                        </Fact>
                    )}
                    {total && (
                        <>
                            <Fact label="Model calls this month">{count(total.calls)}</Fact>
                            <Fact label="Tokens this month">
                                {count(
                                    total.input_tokens +
                                        total.output_tokens +
                                        total.cache_read_tokens +
                                        total.cache_write_tokens,
                                )}
                            </Fact>
                            <Fact label="Model cost this month">
                                <a href={href(pathOf("t", slug, "cost"), { range: "this_month" })}>
                                    {cost(total.cost)}
                                </a>
                            </Fact>
                        </>
                    )}
                    <Fact label="Slug">
                        <Copyable text={data.slug} />
                    </Fact>
                    <Fact label="Created">
                        <Time at={data.created_at} />
                    </Fact>
                </dl>
            )}
            {usage.error && <ErrorNote error={usage.error} retry={usage.reload} />}
            <p class="hint after">
                {platform ? (
                    <>
                        Change the plan under <a href={href("/platform")}>Platform</a>.
                    </>
                ) : (
                    "The plan is set by a platform admin."
                )}
            </p>
        </Card>
    );
}
