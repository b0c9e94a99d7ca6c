// What holds for a whole workspace: its people, keys, defaults, secrets, prices, limits and log.

import { call } from "../lib/api";
import { cost, count } from "../lib/format";
import { useQuery } from "../lib/query";
import { chosen } from "../lib/ranges";
import { href, pathOf } from "../lib/route";
import { useMay } from "../features/access/session";
import type { PageProps } from "../app/pages";
import { AuditLog } from "../features/audit/audit_log";
import { Card, Copyable, ErrorNote, Heading, Skeleton, Time } from "../ui/basics";
import { Catalog } from "../features/agents/catalog";
import { ModelCard, PolicyCard } from "../features/agents/directives";
import { Keys } from "../features/access/keys";
import { PasswordCard } from "../features/access/password";
import { Prices } from "../features/cost/prices";
import { Retention } from "../features/retention/retention";
import { Secrets } from "../features/vault/secrets";
import { Tabs } from "../ui/tabs";
import { TenantUsers } from "../features/access/users";
import { Values } from "../features/agents/values";

const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const TENANT = "GET /api/v1/tenants/{slug}";

const MEMBER_TABS = [
    { value: "defaults", label: "Model and policy" },
    { value: "values", label: "Configuration" },
    { value: "prices", label: "Prices" },
    { value: "plan", label: "Plan and use" },
    { value: "retention", label: "Retention" },
    { value: "you", label: "You" },
];
const ADMIN_TABS = [
    { value: "people", label: "People" },
    { value: "keys", label: "Keys" },
    ...MEMBER_TABS.slice(0, 2),
    { value: "secrets", label: "Secrets" },
    ...MEMBER_TABS.slice(2, 5),
    { value: "audit", label: "Audit log" },
    ...MEMBER_TABS.slice(5),
];

function Plan({ slug }: { slug: string }) {
    const { platform } = useMay(slug);
    const { data, error, reload } = useQuery(`${TENANT} ${slug}`, (signal) =>
        call(TENANT, { path: { slug }, signal }),
    );
    const usage = useQuery(`${USAGE} ${slug} month`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: "this_month", group_by: "model" }, signal }),
    );
    const total = usage.data?.total;
    return (
        <Card title="Plan and use">
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && (
                <dl class="facts">
                    <div>
                        <dt>Agents</dt>
                        <dd>
                            {count(data.agents)} <span class="muted">of {count(data.max_agents)}</span>
                            <div class="gauge">
                                <i
                                    style={{
                                        width: `${Math.min(100, (100 * data.agents) / data.max_agents)}%`,
                                    }}
                                />
                            </div>
                        </dd>
                    </div>
                    <div>
                        <dt>Requests a minute, of one key</dt>
                        <dd>{count(data.rate_limit)}</dd>
                    </div>
                    {total && (
                        <>
                            <div>
                                <dt>Calls of models this month</dt>
                                <dd>{count(total.calls)}</dd>
                            </div>
                            <div>
                                <dt>Tokens this month</dt>
                                <dd>
                                    {count(
                                        total.input_tokens +
                                            total.output_tokens +
                                            total.cache_read_tokens +
                                            total.cache_write_tokens,
                                    )}
                                </dd>
                            </div>
                            <div>
                                <dt>Their cost</dt>
                                <dd>
                                    <a href={href(pathOf("t", slug, "cost"), { range: "this_month" })}>
                                        {cost(total.cost)}
                                    </a>
                                </dd>
                            </div>
                        </>
                    )}
                    <div>
                        <dt>Slug</dt>
                        <dd>
                            <Copyable text={data.slug} />
                        </dd>
                    </div>
                    <div>
                        <dt>Made</dt>
                        <dd>
                            <Time at={data.created_at} />
                        </dd>
                    </div>
                </dl>
            )}
            {usage.error && <ErrorNote error={usage.error} retry={usage.reload} />}
            <p class="hint">
                {platform ? (
                    <>
                        The plan is changed under <a href={href("/platform")}>Platform</a>.
                    </>
                ) : (
                    "Whoever runs the platform sets the plan."
                )}
            </p>
        </Card>
    );
}

function Part({ tab, slug }: { tab: string; slug: string }) {
    const { admin } = useMay(slug);
    switch (tab) {
        case "people":
            return <TenantUsers slug={slug} />;
        case "keys":
            return <Keys slug={slug} agent_name={null} />;
        case "defaults":
            return (
                <div class="columns">
                    <ModelCard at={{ slug }} may={admin} />
                    <PolicyCard at={{ slug }} may={admin} />
                </div>
            );
        case "values":
            return (
                <>
                    <Values slug={slug} agent_name={null} admin={admin} />
                    <Catalog slug={slug} may={admin} />
                </>
            );
        case "secrets":
            return <Secrets slug={slug} />;
        case "prices":
            return <Prices slug={slug} />;
        case "retention":
            return <Retention slug={slug} may={admin} />;
        case "audit":
            return <AuditLog slug={slug} />;
        case "you":
            return <PasswordCard />;
        default:
            return <Plan slug={slug} />;
    }
}

export default function Settings({ slug, query }: PageProps) {
    const { admin } = useMay(slug);
    const tabs = admin ? ADMIN_TABS : MEMBER_TABS;
    const tab = chosen(tabs, query.get("tab"), tabs[0]?.value ?? "");
    return (
        <>
            <Heading title="Settings" />
            <Tabs
                label="Parts of the settings"
                path={pathOf("t", slug, "settings")}
                tabs={tabs}
                value={tab}
            />
            <Part tab={tab} slug={slug} />
        </>
    );
}
