// Settings of the whole platform, for platform admins.

import { useRoles } from "../features/access/session";
import { Tenants } from "../features/access/tenants";
import { Users } from "../features/access/users";
import { Directives } from "../features/agents/directives";
import { AuditLog } from "../features/audit/audit_log";
import { Prices } from "../features/cost/prices";
import { Groups } from "../features/oidc/groups";
import { MasterKey } from "../features/vault/master_key";
import { chosen } from "../lib/choices";
import type { PageProps } from "../lib/page";
import { Heading, Tabs } from "../ui";

const TABS = [
    { value: "tenants", label: "Workspaces" },
    { value: "users", label: "Users" },
    { value: "groups", label: "Groups" },
    { value: "defaults", label: "Model and policy" },
    { value: "prices", label: "Prices" },
    { value: "vault", label: "Vault" },
    { value: "audit", label: "Audit log" },
];

function Tab({ tab }: { tab: string }) {
    switch (tab) {
        case "users":
            return <Users />;
        case "groups":
            return <Groups />;
        case "defaults":
            return <Directives scope={{}} canEdit />;
        case "prices":
            return <Prices slug={null} />;
        case "vault":
            return <MasterKey />;
        case "audit":
            return <AuditLog slug={null} />;
        default:
            return <Tenants />;
    }
}

export default function Platform({ query }: PageProps) {
    const { platform } = useRoles("");
    const tab = chosen(TABS, query.get("tab"), "tenants");
    if (!platform)
        return (
            <>
                <Heading title="This page is for platform admins" />
                <p>
                    Ask the operator of the service for access, or{" "}
                    <a href="#/">go to the start page</a>.
                </p>
            </>
        );
    return (
        <>
            <Heading title="Platform" />
            <Tabs label="Sections of the platform" path="/platform" tabs={TABS} value={tab} />
            <Tab tab={tab} />
        </>
    );
}
