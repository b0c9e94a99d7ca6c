// People: who belongs to a workspace, and who runs the platform.

import type { TenantUser, User } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { Card, ErrorNote, Select, Skeleton, Time } from "../../ui/basics";
import { ConfirmButton, Dialog } from "../../ui/dialog";
import { ChoiceField, Form, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { Chip } from "../../ui/chip";

const OF_TENANT = "GET /api/v1/tenants/{slug}/users";
const ALL = "GET /api/v1/platform/users";
const PASSWORD_HINT = "At least 12 characters. Hand it over yourself; they can change it.";

const ROLES = [
    { value: "member", label: "Member: reads" },
    { value: "admin", label: "Admin: also changes" },
];
const PLATFORM_ROLES = [
    { value: "platform_admin", label: "Platform admin: everything" },
    { value: "none", label: "None; roles come with workspaces" },
];

type Role = TenantUser["role"];
type PlatformRole = "platform_admin" | "none";

function AddToTenant(props: { slug: string; onClose: () => void; onDone: () => void }) {
    const { slug, onClose, onDone } = props;
    const [email, setEmail] = useState("");
    const [role, setRole] = useState<Role>("member");
    const [password, setPassword] = useState("");
    const act = useAct();
    const add = async () => {
        const body = { email, role, password: password || null };
        await call("POST /api/v1/tenants/{slug}/users", { path: { slug }, body });
        onDone();
    };
    return (
        <Dialog title="Add a person" onClose={onClose}>
            <Form act={act} submit="Add" onSubmit={add} onCancel={onClose}>
                <TextField
                    label="E-mail"
                    kind="email"
                    required
                    first
                    value={email}
                    onInput={setEmail}
                />
                <ChoiceField
                    label="Role"
                    choices={ROLES}
                    value={role}
                    onInput={(to) => setRole(to as Role)}
                />
                <TextField
                    label="First password"
                    kind="password"
                    auto="new-password"
                    hint={`${PASSWORD_HINT} Whoever has an account already keeps their own.`}
                    value={password}
                    onInput={setPassword}
                />
            </Form>
        </Dialog>
    );
}

function Member({ slug, of, onChange }: { slug: string; of: TenantUser; onChange: () => void }) {
    const { error, act } = useAct();
    const path = { slug, email: of.email };
    const setRole = (role: string) =>
        act(async () => {
            await call("PATCH /api/v1/tenants/{slug}/users/{email}", {
                path,
                body: { role: role as Role },
            });
            onChange();
        });
    const remove = async () => {
        await call("DELETE /api/v1/tenants/{slug}/users/{email}", { path });
        onChange();
    };
    return (
        <tr>
            <td class="grow">
                {of.email}
                {error && <p role="alert">{error.message}</p>}
            </td>
            <td class="fit" data-label="logged in">
                <Time at={of.last_login_at} />
            </td>
            <td class="fit">
                <Select
                    label={`Role of ${of.email}`}
                    choices={ROLES}
                    value={of.role}
                    onChange={(to) => void setRole(to)}
                />
            </td>
            <td class="fit number">
                <span class="row-buttons">
                    <ConfirmButton
                        label="Remove"
                        name={`Remove ${of.email}`}
                        title={`Remove ${of.email}?`}
                        text="They lose this workspace and are logged out; their account stays."
                        verb="Remove"
                        onConfirm={remove}
                    />
                </span>
            </td>
        </tr>
    );
}

export function TenantUsers({ slug }: { slug: string }) {
    const [adding, setAdding] = useState(false);
    const { data, error, reload } = useQuery(`${OF_TENANT} ${slug}`, (signal) =>
        call(OF_TENANT, { path: { slug }, signal }),
    );
    return (
        <Card
            title="People"
            aside={
                <button type="button" class="primary" onClick={() => setAdding(true)}>
                    <Icon name="plus" /> Add a person
                </button>
            }
        >
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && data.users.length === 0 && (
                <p class="muted">Nobody has a role here; platform admins see it all the same.</p>
            )}
            {data && data.users.length > 0 && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>E-mail</th>
                            <th>Last log-in</th>
                            <th>Role</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.users.map((one) => (
                            <Member key={one.user_id} slug={slug} of={one} onChange={reload} />
                        ))}
                    </tbody>
                </table>
            )}
            {adding && (
                <AddToTenant
                    slug={slug}
                    onClose={() => setAdding(false)}
                    onDone={() => {
                        setAdding(false);
                        reload();
                    }}
                />
            )}
        </Card>
    );
}

interface UserFormProps {
    of: User | null; // null: a new one
    onClose: () => void;
    onDone: () => void;
}

function UserForm({ of, onClose, onDone }: UserFormProps) {
    const [email, setEmail] = useState("");
    const [role, setRole] = useState<PlatformRole>(of?.role ?? "none");
    const [password, setPassword] = useState("");
    const act = useAct();
    const save = async () => {
        if (of === null)
            await call("POST /api/v1/platform/users", { body: { email, role, password } });
        else
            await call("PATCH /api/v1/platform/users/{email}", {
                path: { email: of.email },
                body: { role, password: password || null },
            });
        onDone();
    };
    return (
        <Dialog title={of === null ? "New user" : of.email} onClose={onClose}>
            <Form act={act} submit="Save" onSubmit={save} onCancel={onClose}>
                {of === null && (
                    <TextField
                        label="E-mail"
                        kind="email"
                        required
                        first
                        value={email}
                        onInput={setEmail}
                    />
                )}
                <ChoiceField
                    label="Role"
                    choices={PLATFORM_ROLES}
                    value={role}
                    onInput={(to) => setRole(to as PlatformRole)}
                />
                <TextField
                    label={of === null ? "Password" : "New password"}
                    kind="password"
                    auto="new-password"
                    required={of === null}
                    hint={of === null ? PASSWORD_HINT : "Empty: it stays. A new one logs them out."}
                    value={password}
                    onInput={setPassword}
                />
            </Form>
        </Dialog>
    );
}

function UserRow({ of, onEdit, onChange }: { of: User; onEdit: () => void; onChange: () => void }) {
    return (
        <tr>
            <td class="grow">{of.email}</td>
            <td class="grow">
                {of.role === "platform_admin" && <Chip tone="busy">platform admin</Chip>}{" "}
                <span class="muted">
                    {of.tenants.map((one) => `${one.slug} (${one.role})`).join(", ")}
                </span>
            </td>
            <td class="fit" data-label="logged in">
                <Time at={of.last_login_at} />
            </td>
            <td class="fit number">
                <span class="row-buttons">
                    <button type="button" aria-label={`Change ${of.email}`} onClick={onEdit}>
                        Change
                    </button>
                    <ConfirmButton
                        label="Remove"
                        name={`Remove ${of.email}`}
                        title={`Remove ${of.email}?`}
                        text="The account goes, with its roles in every workspace."
                        verb="Remove"
                        onConfirm={async () => {
                            await call("DELETE /api/v1/platform/users/{email}", {
                                path: { email: of.email },
                            });
                            onChange();
                        }}
                    />
                </span>
            </td>
        </tr>
    );
}

export function PlatformUsers() {
    const [edited, setEdited] = useState<User | null | undefined>(undefined); // null: a new one
    const { data, error, reload } = useQuery(ALL, (signal) => call(ALL, { signal }));
    return (
        <Card
            title="Users"
            aside={
                <button type="button" class="primary" onClick={() => setEdited(null)}>
                    <Icon name="plus" /> New user
                </button>
            }
        >
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>E-mail</th>
                            <th>Roles</th>
                            <th>Last log-in</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.users.map((one) => (
                            <UserRow
                                key={one.user_id}
                                of={one}
                                onEdit={() => setEdited(one)}
                                onChange={reload}
                            />
                        ))}
                    </tbody>
                </table>
            )}
            {edited !== undefined && (
                <UserForm
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
