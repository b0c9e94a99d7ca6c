// Secrets of a workspace: set and removed, never read.

import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import {
    Check,
    Chip,
    ConfirmButton,
    Dialog,
    Empty,
    Form,
    Icon,
    ListCard,
    TextField,
    Time,
} from "../../ui";

const SECRETS = "GET /api/v1/tenants/{slug}/secrets";
const SET = "PUT /api/v1/tenants/{slug}/secrets/{name}";
const REMOVE = "DELETE /api/v1/tenants/{slug}/secrets/{name}";

interface SecretDialogProps {
    slug: string;
    edited: string | null; // its name; null: a new one
    onClose: () => void;
    onDone: () => void;
}

function SecretDialog({ slug, edited, onClose, onDone }: SecretDialogProps) {
    const [name, setName] = useState(edited ?? "");
    const [value, setValue] = useState("");
    const [shared, setShared] = useState(false);
    const action = useAction();
    const save = async () => {
        const body = edited === null ? { value, shared } : { value };
        await call(SET, { path: { slug, name }, body });
        onDone();
    };
    return (
        <Dialog title={edited === null ? "New secret" : `Change ${edited}`} onClose={onClose}>
            <Form action={action} submit="Save" onSubmit={save} onCancel={onClose}>
                {edited === null && (
                    <TextField
                        label="Name"
                        name="name"
                        hint={
                            <>
                                Values refer to it as <code>vault:{name || "NAME"}</code>.
                            </>
                        }
                        required
                        focus
                        value={name}
                        onInput={setName}
                    />
                )}
                <TextField
                    label="Value"
                    name="value"
                    kind="password"
                    autoComplete="new-password"
                    hint="Stored encrypted; it cannot be viewed again."
                    required
                    focus={edited !== null}
                    value={value}
                    onInput={setValue}
                />
                {edited === null && (
                    <Check
                        label="Workspace values can refer to it, not only values of single agents"
                        value={shared}
                        onChange={setShared}
                    />
                )}
            </Form>
        </Dialog>
    );
}

interface RemoveSecretProps {
    slug: string;
    name: string;
    onRemoved: () => void;
}

function RemoveSecret({ slug, name, onRemoved }: RemoveSecretProps) {
    return (
        <ConfirmButton
            label="Remove"
            name={`Remove ${name}`}
            title={`Remove ${name}?`}
            text="Values that refer to it can no longer be resolved."
            verb="Remove"
            onConfirm={async () => {
                await call(REMOVE, { path: { slug, name } });
                onRemoved();
            }}
        />
    );
}

export function Secrets({ slug }: { slug: string }) {
    const [edited, setEdited] = useState<string | null | undefined>(undefined); // null: a new one
    const secrets = useQuery(`${SECRETS} ${slug}`, (signal) =>
        call(SECRETS, { path: { slug }, signal }),
    );
    const close = () => setEdited(undefined);
    return (
        <ListCard
            title="Secrets"
            aside={
                <button type="button" onClick={() => setEdited(null)}>
                    <Icon name="plus" /> New secret
                </button>
            }
            loaded={secrets}
            skeleton={2}
            empty={
                <Empty title="No secrets">
                    <p>
                        Passwords and tokens that agents need are stored encrypted and referred to
                        by values.
                    </p>
                </Empty>
            }
            rows={secrets.data?.secrets ?? []}
            keyOf={(secret) => secret.name}
            columns={[
                { title: "Name", class: "grow", by: ({ name }) => name, cell: ({ name }) => <code>vault:{name}</code> },
                {
                    title: "Used by",
                    class: "fit",
                    cell: ({ shared }) => (
                        <Chip tone="quiet">
                            {shared ? "all values" : "values of single agents"}
                        </Chip>
                    ),
                },
                {
                    title: "Version",
                    class: "fit",
                    label: "version",
                    cell: (secret) => secret.version,
                },
                {
                    title: "Changed",
                    class: "fit",
                    cell: (secret) => <Time at={secret.updated_at} />,
                },
            ]}
            buttons={({ name }) => (
                <>
                    <button
                        type="button"
                        aria-label={`Change ${name}`}
                        onClick={() => setEdited(name)}
                    >
                        Change
                    </button>
                    <RemoveSecret slug={slug} name={name} onRemoved={secrets.reload} />
                </>
            )}
        >
            {edited !== undefined && (
                <SecretDialog
                    slug={slug}
                    edited={edited}
                    onClose={close}
                    onDone={() => {
                        close();
                        secrets.reload();
                    }}
                />
            )}
        </ListCard>
    );
}
