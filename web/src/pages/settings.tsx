// What holds for a whole workspace: its people, keys, defaults, secrets, prices, limits and log.

import { call } from "../lib/api";
import { count } from "../lib/format";
import { useQuery } from "../lib/query";
import { chosen } from "../lib/ranges";
import { pathOf } from "../lib/route";
import { useMay } from "../lib/session";
import type { PageProps } from "../pages";
import { AuditLog } from "../ui/audit";
import { Card, ErrorNote, Heading, Skeleton } from "../ui/basics";
import { ModelCard, PolicyCard } from "../ui/guidance";
import { Keys } from "../ui/keys";
import { PasswordCard } from "../ui/password";
import { Prices } from "../ui/prices";
import { Retention } from "../ui/retention";
import { Secrets } from "../ui/secrets";
import { Tabs } from "../ui/tabs";
import { TenantUsers } from "../ui/users";
import { Values } from "../ui/values";

const AGENTS = "GET /api/v1/tenants/{slug}/agents";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const TENANTS = "GET /api/v1/tenants";
const COUNTED_MAX = 1000;

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

/** A platform admin is told the plan; others what they use of it. */
function Plan({ slug }: { slug: string }) {
    const { platform } = useMay(slug);
    const agents = useQuery(`${AGENTS} ${slug} count`, (signal) =>
        call(AGENTS, { path: { slug }, query: { limit: COUNTED_MAX }, signal }),
    );
    const usage = useQuery(`${USAGE} ${slug} month`, (signal) =>
        call(USAGE, { path: { slug }, query: { time_range: "this_month", group_by: "model" }, signal }),
    );
    const tenants = useQuery(platform ? TENANTS : null, (signal) => call(TENANTS, { signal }));
    const plan = tenants.data?.tenants.find((one) => one.slug === slug);
    const n = agents.data?.agents.length;
    const total = usage.data?.total;
    return (
        <Card title="Plan and use">
            {agents.error && <ErrorNote error={agents.error} retry={agents.reload} />}
            {n === undefined && !agents.error && <Skeleton rows={3} />}
            {n !== undefined && (
                <dl class="facts">
                    <div>
                        <dt>Agents</dt>
                        <dd>
                            {count(n)}
                            {agents.data?.next !== null && " or more"}
                            {plan && <span class="muted"> of {count(plan.max_agents)}</span>}
                            {plan && (
                                <div class="bar">
                                    <i
                                        style={{
                                            width: `${Math.min(100, (100 * n) / plan.max_agents)}%`,
                                        }}
                                    />
                                </div>
                            )}
                        </dd>
                    </div>
                    {plan && (
                        <div>
                            <dt>Requests a minute, of one key</dt>
                            <dd>{count(plan.rate_limit)}</dd>
                        </div>
                    )}
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
                        </>
                    )}
                </dl>
            )}
            {!platform && <p class="hint">Whoever runs the platform sets the plan.</p>}
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
            return <Values slug={slug} agent_name={null} admin={admin} />;
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
