// The workspaces of the platform and their plans.

import type { Tenant } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { bytes, count } from "../../lib/format";
import { homePath } from "../../lib/paths";
import { useQuery } from "../../lib/query";
import { href } from "../../lib/route";
import { Dialog, Form, Icon, ListCard, TextField, Time } from "../../ui";
import { TENANTS } from "./my_tenants";
import { NameField, SlugField, useNameAndSlug } from "./tenant_form";

interface TenantDialogProps {
    tenant: Tenant | null; // null: a new one
    onClose: () => void;
    onDone: () => void;
}

function TenantDialog({ tenant, onClose, onDone }: TenantDialogProps) {
    const named = useNameAndSlug(tenant?.name ?? "");
    const [agents, setAgents] = useState(String(tenant?.max_agents ?? 100));
    const [rate, setRate] = useState(String(tenant?.rate_limit ?? 100));
    const [quota, setQuota] = useState(String(tenant?.max_bytes ?? 0));
    const action = useAction();
    const save = async () => {
        const { name, slug } = named;
        const plan = {
            name,
            max_agents: Number(agents),
            rate_limit: Number(rate),
            max_bytes: Number(quota),
        };
        if (tenant === null) await call("POST /api/v1/tenants", { body: { slug, ...plan } });
        else
            await call("PATCH /api/v1/tenants/{slug}", { path: { slug: tenant.slug }, body: plan });
        onDone();
    };
    return (
        <Dialog
            title={tenant === null ? "New workspace" : `Plan of ${tenant.slug}`}
            onClose={onClose}
        >
            <Form action={action} submit="Save" onSubmit={save} onCancel={onClose}>
                <NameField state={named} />
                {tenant === null && <SlugField state={named} />}
                <TextField
                    label="Agent limit"
                    name="max_agents"
                    kind="number"
                    min={0}
                    required
                    value={agents}
                    onInput={setAgents}
                />
                <TextField
                    label="Requests per minute per key"
                    name="rate_limit_per_minute"
                    kind="number"
                    min={1}
                    required
                    value={rate}
                    onInput={setRate}
                />
                <TextField
                    label="Bytes of stored reports"
                    name="max_bytes"
                    hint="0: no quota."
                    kind="number"
                    min={0}
                    required
                    value={quota}
                    onInput={setQuota}
                />
            </Form>
        </Dialog>
    );
}

export function Tenants() {
    const [edited, setEdited] = useState<Tenant | null | undefined>(undefined); // null: a new one
    const tenants = useQuery(TENANTS, (signal) => call(TENANTS, { signal }));
    const close = () => setEdited(undefined);
    return (
        <ListCard
            title="Workspaces"
            aside={
                <button type="button" class="primary" onClick={() => setEdited(null)}>
                    <Icon name="plus" /> New workspace
                </button>
            }
            loaded={tenants}
            skeleton={4}
            rows={tenants.data?.tenants ?? []}
            keyOf={(tenant) => tenant.slug}
            columns={[
                {
                    title: "Name",
                    class: "grow",
                    cell: (tenant) => (
                        <a class="row-link" href={href(homePath(tenant.slug))}>
                            {tenant.name || tenant.slug}
                        </a>
                    ),
                },
                { title: "Slug", class: "fit", cell: (tenant) => <code>{tenant.slug}</code> },
                {
                    title: "Agent limit",
                    class: "fit number",
                    label: "agents",
                    cell: (tenant) => count(tenant.max_agents),
                },
                {
                    title: "Requests per minute",
                    class: "fit number",
                    label: "requests per minute",
                    cell: (tenant) => count(tenant.rate_limit),
                },
                {
                    title: "Quota",
                    class: "fit number wide",
                    label: "bytes of stored reports",
                    cell: (tenant) => (tenant.max_bytes > 0 ? bytes(tenant.max_bytes) : "none"),
                },
                {
                    title: "Created",
                    class: "fit wide",
                    cell: (tenant) => <Time at={tenant.created_at} />,
                },
            ]}
            buttons={(tenant) => (
                <button
                    type="button"
                    aria-label={`Change the plan of ${tenant.slug}`}
                    onClick={() => setEdited(tenant)}
                >
                    Change
                </button>
            )}
        >
            {edited !== undefined && (
                <TenantDialog
                    tenant={edited}
                    onClose={close}
                    onDone={() => {
                        close();
                        tenants.reload();
                    }}
                />
            )}
        </ListCard>
    );
}
