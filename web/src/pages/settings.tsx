// Settings of a workspace.

import { Keys } from "../features/access/keys";
import { PasswordCard } from "../features/access/password";
import { Plan } from "../features/access/plan";
import { useRoles } from "../features/access/session";
import { TenantUsers } from "../features/access/tenant_users";
import { Catalog } from "../features/agents/catalog";
import { Directives } from "../features/agents/directives";
import { Values } from "../features/agents/values";
import { AuditLog } from "../features/audit/audit_log";
import { Prices } from "../features/cost/prices";
import { Retention } from "../features/retention/retention";
import { Secrets } from "../features/vault/secrets";
import { chosen } from "../lib/choices";
import type { PageProps } from "../lib/page";
import { pathOf } from "../lib/route";
import { Heading, Tabs } from "../ui";

interface SettingsTab {
    value: string;
    label: string;
    admin?: boolean; // only for admins
}

const TABS: SettingsTab[] = [
    { value: "users", label: "Users", admin: true },
    { value: "keys", label: "Keys", admin: true },
    { value: "defaults", label: "Model and policy" },
    { value: "values", label: "Configuration" },
    { value: "secrets", label: "Secrets", admin: true },
    { value: "prices", label: "Prices" },
    { value: "plan", label: "Plan and usage" },
    { value: "retention", label: "Retention" },
    { value: "audit", label: "Audit log", admin: true },
];

function Tab({ tab, slug }: { tab: string; slug: string }) {
    const { admin } = useRoles(slug);
    switch (tab) {
        case "users":
            return <TenantUsers slug={slug} />;
        case "keys":
            return <Keys slug={slug} agent_name={null} />;
        case "defaults":
            return <Directives scope={{ slug }} canEdit={admin} />;
        case "values":
            return (
                <>
                    <Values slug={slug} agent_name={null} admin={admin} />
                    <Catalog slug={slug} canEdit={admin} />
                </>
            );
        case "secrets":
            return <Secrets slug={slug} />;
        case "prices":
            return <Prices slug={slug} />;
        case "retention":
            return <Retention slug={slug} canEdit={admin} />;
        case "audit":
            return <AuditLog slug={slug} />;
        case "you":
            return <PasswordCard />;
        default:
            return <Plan slug={slug} />;
    }
}

export default function Settings({ slug, query }: PageProps) {
    const { admin } = useRoles(slug);
    const tabs = TABS.filter((one) => admin || !one.admin);
    const wanted = query.get("tab");
    const refused = TABS.find((one) => one.value === wanted && one.admin && !admin);
    const tab = wanted === "you" ? wanted : chosen(tabs, wanted, tabs[0]?.value ?? "");
    return (
        <>
            <Heading title="Settings" />
            <Tabs
                label="Sections of the settings"
                path={pathOf("t", slug, "settings")}
                tabs={tabs}
                value={tab}
                said={refused !== undefined}
            />
            {refused && (
                <p class="note" role="status">
                    {refused.label}: only admins of this workspace can see it.
                </p>
            )}
            <Tab tab={tab} slug={slug} />
        </>
    );
}
