// Secrets of a workspace: set and removed, never read.

import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { Card, Empty, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { ConfirmButton, Dialog } from "../../ui/dialog";
import { Check, Form, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Chip } from "../../ui/chip";

const SECRETS = "GET /api/v1/tenants/{slug}/secrets";
const SET = "PUT /api/v1/tenants/{slug}/secrets/{name}";
const REMOVE = "DELETE /api/v1/tenants/{slug}/secrets/{name}";

function SetSecret(props: { slug: string; of: string | null; onClose: () => void; onDone: () => void }) {
    const { slug, of, onClose, onDone } = props;
    const [name, setName] = useState(of ?? "");
    const [value, setValue] = useState("");
    const [shared, setShared] = useState(false);
    const act = useAct();
    const save = async () => {
        const body = of === null ? { value, shared } : { value };
        await call(SET, { path: { slug, name }, body });
        onDone();
    };
    return (
        <Dialog title={of === null ? "New secret" : `Change ${of}`} onClose={onClose}>
            <Form act={act} submit="Save" onSubmit={save} onCancel={onClose}>
                {of === null && (
                    <TextField
                        label="Name"
                        hint={
                            <>
                                Values refer to it as <code>vault:{name || "NAME"}</code>.
                            </>
                        }
                        required
                        first
                        value={name}
                        onInput={setName}
                    />
                )}
                <TextField
                    label="Value"
                    kind="password"
                    auto="new-password"
                    hint="Sealed when it is stored; nobody can read it here again."
                    required
                    first={of !== null}
                    value={value}
                    onInput={setValue}
                />
                {of === null && (
                    <Check
                        label="Values of the whole workspace may refer to it, not only an agent's own"
                        value={shared}
                        onChange={setShared}
                    />
                )}
            </Form>
        </Dialog>
    );
}

export function Secrets({ slug }: { slug: string }) {
    const [edited, setEdited] = useState<string | null | undefined>(undefined); // null: a new one
    const { data, error, reload } = useQuery(`${SECRETS} ${slug}`, (signal) =>
        call(SECRETS, { path: { slug }, signal }),
    );
    const done = () => {
        setEdited(undefined);
        reload();
    };
    return (
        <Card
            title="Secrets"
            aside={
                <button type="button" onClick={() => setEdited(null)}>
                    <Icon name="plus" /> New secret
                </button>
            }
        >
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={2} />}
            {data && data.secrets.length === 0 && (
                <Empty title="No secrets">
                    <p>Passwords and tokens that agents need are kept sealed, and named by values.</p>
                </Empty>
            )}
            {data && data.secrets.length > 0 && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>Name</th>
                            <th>For</th>
                            <th>Version</th>
                            <th>Changed</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.secrets.map((one) => (
                            <tr key={one.name}>
                                <td class="grow">
                                    <code>vault:{one.name}</code>
                                </td>
                                <td class="fit">
                                    <Chip tone="quiet">
                                        {one.shared ? "all values" : "values of single agents"}
                                    </Chip>
                                </td>
                                <td class="fit" data-label="version">
                                    {one.version}
                                </td>
                                <td class="fit">
                                    <Time at={one.updated_at} />
                                </td>
                                <td class="fit number">
                                    <span class="row-buttons">
                                        <button
                                            type="button"
                                            aria-label={`Change ${one.name}`}
                                            onClick={() => setEdited(one.name)}
                                        >
                                            Change
                                        </button>
                                        <ConfirmButton
                                            label="Remove"
                                            name={`Remove ${one.name}`}
                                            title={`Remove ${one.name}?`}
                                            text="Values that refer to it can no longer be resolved."
                                            verb="Remove"
                                            onConfirm={async () => {
                                                await call(REMOVE, {
                                                    path: { slug, name: one.name },
                                                });
                                                reload();
                                            }}
                                        />
                                    </span>
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            )}
            {edited !== undefined && (
                <SetSecret
                    slug={slug}
                    of={edited}
                    onClose={() => setEdited(undefined)}
                    onDone={done}
                />
            )}
        </Card>
    );
}
