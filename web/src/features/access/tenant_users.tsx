// The users of a workspace and their roles.

import type { LinkCreated, TenantUser } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { ConfirmButton, Dialog, Form, Icon, ListCard, Select, Time } from "../../ui";
import { Address } from "./address";
import { InviteDialog, Invitations, LinkOutcome } from "./invitations";
import { EmailField, PasswordField, RoleField } from "./user_fields";

const USERS = "GET /api/v1/tenants/{slug}/users";

type Role = TenantUser["role"];

const ROLES: { value: Role; label: string }[] = [
    { value: "member", label: "Member: can view, acknowledge, mute" },
    { value: "admin", label: "Admin: can also change" },
];

interface AddProps {
    slug: string;
    onClose: () => void;
    onDone: () => void;
}

function AddUser({ slug, onClose, onDone }: AddProps) {
    const [email, setEmail] = useState("");
    const [role, setRole] = useState<Role>("member");
    const [password, setPassword] = useState("");
    const action = useAction();
    const add = async () => {
        const body = { email, role, password: password || null };
        await call("POST /api/v1/tenants/{slug}/users", { path: { slug }, body });
        onDone();
    };
    return (
        <Dialog title="Add a user" onClose={onClose}>
            <Form action={action} submit="Add" onSubmit={add} onCancel={onClose}>
                <EmailField value={email} onInput={setEmail} />
                <RoleField roles={ROLES} value={role} onInput={setRole} />
                <PasswordField
                    label="First password"
                    name="password"
                    more="Not needed for users who already have an account."
                    value={password}
                    onInput={setPassword}
                />
            </Form>
        </Dialog>
    );
}

interface UserProps {
    slug: string;
    user: TenantUser;
    onChange: () => void;
}

function RoleSelect({ slug, user, onChange }: UserProps) {
    const { error, perform } = useAction();
    const setRole = (role: Role) =>
        perform(async () => {
            await call("PATCH /api/v1/tenants/{slug}/users/{email}", {
                path: { slug, email: user.email },
                body: { role },
            });
            onChange();
        });
    return (
        <>
                <Select
                    label={`Role of ${user.email}`}
                    choices={ROLES}
                    value={user.role}
                    onChange={(to) => void setRole(to as Role)}
                />
                {error && <p role="alert">{error.message}</p>}
        </>
    );
}

function RemoveUser({ slug, user: { email }, onChange }: UserProps) {
    const remove = async () => {
        await call("DELETE /api/v1/tenants/{slug}/users/{email}", { path: { slug, email } });
        onChange();
    };
    return (
        <ConfirmButton
            label="Remove"
            name={`Remove ${email}`}
            title={`Remove ${email}?`}
            text="They lose access to this workspace and are signed out. Their account is kept."
            verb="Remove"
            onConfirm={remove}
        />
    );
}

export function TenantUsers({ slug }: { slug: string }) {
    const [adding, setAdding] = useState(false);
    const [inviting, setInviting] = useState(false);
    const [made, setMade] = useState<LinkCreated | null>(null);
    const [version, setVersion] = useState(0); // of the invitations
    const users = useQuery(`${USERS} ${slug}`, (signal) =>
        call(USERS, { path: { slug }, signal }),
    );
    const { reload } = users;
    return (
        <>
            <ListCard
                title="Users"
                aside={
                    <>
                        <button type="button" onClick={() => setAdding(true)}>
                            Add user
                        </button>{" "}
                        <button type="button" class="primary" onClick={() => setInviting(true)}>
                            <Icon name="plus" /> Invite
                        </button>
                    </>
                }
                above={made !== null && <LinkOutcome made={made} onDone={() => setMade(null)} />}
                loaded={users}
                empty={
                    <p class="muted">
                        No users in this workspace yet. Platform admins can always open it.
                    </p>
                }
                rows={users.data?.users ?? []}
                keyOf={(user) => user.user_id}
                columns={[
                    { title: "E-mail", class: "grow", by: (user) => user.email, cell: (user) => <Address user={user} /> },
                    {
                        title: "Last sign-in",
                        class: "fit",
                        label: "last sign-in",
                        by: (user) => Date.parse(user.last_login_at ?? "") || 0,
                        cell: (user) => <Time at={user.last_login_at} />,
                    },
                    {
                        title: "Role",
                        class: "fit",
                        cell: (user) => <RoleSelect slug={slug} user={user} onChange={reload} />,
                    },
                ]}
                buttons={(user) => (
                    <RemoveUser slug={slug} user={user} onChange={reload} />
                )}
            >
                {adding && (
                    <AddUser
                        slug={slug}
                        onClose={() => setAdding(false)}
                        onDone={() => {
                            setAdding(false);
                            reload();
                        }}
                    />
                )}
                {inviting && (
                    <InviteDialog
                        roles={ROLES}
                        initial="member"
                        send={(email, role) =>
                            call("POST /api/v1/tenants/{slug}/invitations", {
                                path: { slug },
                                body: { email, role },
                            })
                        }
                        onClose={() => setInviting(false)}
                        onDone={(link) => {
                            setInviting(false);
                            setMade(link);
                            setVersion(version + 1);
                        }}
                    />
                )}
            </ListCard>
            <Invitations slug={slug} version={version} />
        </>
    );
}
