// What holds for all workspaces: for those who run the service.

import { useState } from "preact/hooks";

import { call } from "../lib/api";
import { plural } from "../lib/format";
import { chosen } from "../lib/ranges";
import { useMay } from "../features/access/session";
import type { PageProps } from "../app/pages";
import { AuditLog } from "../features/audit/audit_log";
import { Card, Empty, Heading } from "../ui/basics";
import { ConfirmButton } from "../ui/dialog";
import { ModelCard, PolicyCard } from "../features/agents/directives";
import { Prices } from "../features/cost/prices";
import { Tabs } from "../ui/tabs";
import { Tenants } from "../features/access/tenants";
import { PlatformUsers } from "../features/access/users";

const TABS = [
    { value: "tenants", label: "Workspaces" },
    { value: "users", label: "Users" },
    { value: "defaults", label: "Model and policy" },
    { value: "prices", label: "Prices" },
    { value: "vault", label: "Vault" },
    { value: "audit", label: "Audit log" },
];

function Vault() {
    const [told, setTold] = useState("");
    const rotate = async () => {
        const done = await call("POST /api/v1/platform/vault/rotate", {});
        setTold(
            `${plural(done.data_keys, "key")} sealed anew. ` +
                (done.old_key_removed ? "The old master key is gone." : "The old one is kept.") +
                " Back the new one up.",
        );
    };
    return (
        <Card title="Vault" class="narrow">
            <p class="prose after-text">
                Secrets are sealed with a master key that is not in the database. A new one can be
                made while everything goes on; back it up then, apart from the database.
            </p>
            <ConfirmButton
                plain
                label="Make a new master key"
                title="Make a new master key?"
                text="Backups of the database from before need the old key: keep it as long as them."
                verb="Make it"
                onConfirm={rotate}
            />
            <p role="status" class="after">
                {told}
            </p>
        </Card>
    );
}

function Part({ tab }: { tab: string }) {
    switch (tab) {
        case "users":
            return <PlatformUsers />;
        case "defaults":
            return (
                <div class="columns">
                    <ModelCard at={{}} may />
                    <PolicyCard at={{}} may />
                </div>
            );
        case "prices":
            return <Prices slug={null} />;
        case "vault":
            return <Vault />;
        case "audit":
            return <AuditLog slug={null} />;
        default:
            return <Tenants />;
    }
}

export default function Platform({ query }: PageProps) {
    const { platform } = useMay("");
    const tab = chosen(TABS, query.get("tab"), "tenants");
    if (!platform)
        return (
            <Empty title="This page is for platform admins">
                <p>Ask whoever runs the service.</p>
            </Empty>
        );
    return (
        <>
            <Heading title="Platform" />
            <Tabs label="Parts of the platform" path="/platform" tabs={TABS} value={tab} />
            <Part tab={tab} />
        </>
    );
}
