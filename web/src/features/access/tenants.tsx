// Workspaces of the platform: their plans, and new ones.

import type { Tenant } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { count, slugOf } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { href } from "../../lib/route";
import { startOf } from "../../app/pages";
import { Card, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { Dialog } from "../../ui/dialog";
import { Form, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";

const TENANTS = "GET /api/v1/tenants";

interface EditProps {
    of: Tenant | null; // null: a new one
    onClose: () => void;
    onDone: () => void;
}

function Edit({ of, onClose, onDone }: EditProps) {
    const [name, setName] = useState(of?.name ?? "");
    const [slug, setSlug] = useState<string | null>(of?.slug ?? null); // null: as the name says
    const [agents, setAgents] = useState(String(of?.max_agents ?? 100));
    const [rate, setRate] = useState(String(of?.rate_limit ?? 100));
    const act = useAct();
    const chosen = slug ?? slugOf(name);
    const save = async () => {
        const plan = { name, max_agents: Number(agents), rate_limit: Number(rate) };
        if (of === null) await call("POST /api/v1/tenants", { body: { slug: chosen, ...plan } });
        else await call("PATCH /api/v1/tenants/{slug}", { path: { slug: of.slug }, body: plan });
        onDone();
    };
    return (
        <Dialog title={of === null ? "New workspace" : `Plan of ${of.slug}`} onClose={onClose}>
            <Form act={act} submit="Save" onSubmit={save} onCancel={onClose}>
                <TextField label="Name" required first value={name} onInput={setName} />
                {of === null && (
                    <TextField
                        label="Slug"
                        hint="How agents and addresses name it; it stays."
                        required
                        pattern="[a-z0-9]+(-[a-z0-9]+)*"
                        value={chosen}
                        onInput={setSlug}
                    />
                )}
                <TextField
                    label="Agents, at most"
                    kind="number"
                    least={0}
                    required
                    value={agents}
                    onInput={setAgents}
                />
                <TextField
                    label="Requests a minute, of one key"
                    kind="number"
                    least={1}
                    required
                    value={rate}
                    onInput={setRate}
                />
            </Form>
        </Dialog>
    );
}

export function Tenants() {
    const [edited, setEdited] = useState<Tenant | null | undefined>(undefined); // null: a new one
    const { data, error, reload } = useQuery(TENANTS, (signal) => call(TENANTS, { signal }));
    return (
        <Card
            title="Workspaces"
            aside={
                <button type="button" class="primary" onClick={() => setEdited(null)}>
                    <Icon name="plus" /> New workspace
                </button>
            }
        >
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={4} />}
            {data && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>Name</th>
                            <th>Slug</th>
                            <th class="number">Agents, at most</th>
                            <th class="number">Requests a minute</th>
                            <th class="wide">Made</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.tenants.map((one) => (
                            <tr key={one.slug}>
                                <td class="grow">
                                    <a class="row-link" href={href(startOf(one.slug))}>
                                        {one.name || one.slug}
                                    </a>
                                </td>
                                <td class="fit">
                                    <code>{one.slug}</code>
                                </td>
                                <td class="fit number" data-label="agents">
                                    {count(one.max_agents)}
                                </td>
                                <td class="fit number" data-label="requests a minute">
                                    {count(one.rate_limit)}
                                </td>
                                <td class="fit wide">
                                    <Time at={one.created_at} />
                                </td>
                                <td class="fit number">
                                    <span class="row-buttons">
                                        <button
                                            type="button"
                                            aria-label={`Change the plan of ${one.slug}`}
                                            onClick={() => setEdited(one)}
                                        >
                                            Change
                                        </button>
                                    </span>
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            )}
            {edited !== undefined && (
                <Edit
                    of={edited}
                    onClose={() => setEdited(undefined)}
                    onDone={() => {
                        setEdited(undefined);
                        reload();
                    }}
                />
            )}
        </Card>
    );
}
