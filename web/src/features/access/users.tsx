// The users of the platform.

import type { LinkCreated, User } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { Chip, ConfirmButton, Dialog, Form, Icon, ListCard, TextField, Time } from "../../ui";
import { Address } from "./address";
import { InviteDialog, Invitations, LinkOutcome } from "./invitations";
import { UserTokens } from "./tokens";
import { EmailField, PasswordField, RoleField } from "./user_fields";

const USERS = "GET /api/v1/platform/users";

type Role = "platform_admin" | "none";

const ROLES: { value: Role; label: string }[] = [
    { value: "platform_admin", label: "Platform admin: full access" },
    { value: "none", label: "None: only roles in workspaces" },
];

interface UserDialogProps {
    user: User | null; // null: a new one
    onClose: () => void;
    onDone: () => void;
}

function UserDialog({ user, onClose, onDone }: UserDialogProps) {
    const [email, setEmail] = useState("");
    const [role, setRole] = useState<Role>(user?.role ?? "none");
    const [password, setPassword] = useState("");
    const action = useAction();
    const save = async () => {
        if (user === null)
            await call("POST /api/v1/platform/users", { body: { email, role, password } });
        else
            await call("PATCH /api/v1/platform/users/{email}", {
                path: { email: user.email },
                body: { role, password: password || null },
            });
        onDone();
    };
    return (
        <Dialog title={user === null ? "New user" : user.email} onClose={onClose}>
            <Form action={action} submit="Save" onSubmit={save} onCancel={onClose}>
                {user === null && <EmailField value={email} onInput={setEmail} />}
                <RoleField roles={ROLES} value={role} onInput={setRole} />
                {user === null ? (
                    <PasswordField
                        label="Password"
                        name="password"
                        required
                        value={password}
                        onInput={setPassword}
                    />
                ) : (
                    <TextField
                        label="New password"
                        name="password"
                        kind="password"
                        autoComplete="new-password"
                        hint="Leave empty to keep it. A new password signs them out."
                        value={password}
                        onInput={setPassword}
                    />
                )}
            </Form>
            {user !== null && (
                <div class="buttons">
                    {!user.email_confirmed && <ConfirmAddress email={user.email} onDone={onDone} />}
                    <ResetFactor email={user.email} />
                    <SignOutUser email={user.email} />
                </div>
            )}
        </Dialog>
    );
}

function RemoveUser({ email, onRemoved }: { email: string; onRemoved: () => void }) {
    return (
        <ConfirmButton
            label="Remove"
            name={`Remove ${email}`}
            title={`Remove ${email}?`}
            text="This deletes the account and its roles in every workspace."
            verb="Remove"
            onConfirm={async () => {
                await call("DELETE /api/v1/platform/users/{email}", { path: { email } });
                onRemoved();
            }}
        />
    );
}

function ResetUser({ email, onMade }: { email: string; onMade: (made: LinkCreated) => void }) {
    return (
        <ConfirmButton
            plain
            label="Reset password"
            name={`Reset password of ${email}`}
            title={`Reset the password of ${email}?`}
            text="This creates a link with which they choose a new password, once and within an hour. Their password stays valid until then."
            verb="Create link"
            onConfirm={async () =>
                onMade(
                    await call("POST /api/v1/platform/users/{email}/reset-link", {
                        path: { email },
                        body: {},
                    }),
                )
            }
        />
    );
}

function ResetFactor({ email }: { email: string }) {
    return (
        <ConfirmButton
            label="Remove second factor"
            name={`Remove second factor of ${email}`}
            title={`Remove the second factor of ${email}?`}
            text="For a person who lost the app and the recovery codes. They sign in with the password alone, until they add a new one."
            verb="Remove"
            onConfirm={() =>
                call("DELETE /api/v1/platform/users/{email}/second-factor", { path: { email } })
            }
        />
    );
}

function ConfirmAddress({ email, onDone }: { email: string; onDone: () => void }) {
    return (
        <ConfirmButton
            label="Confirm address"
            name={`Confirm the address of ${email}`}
            title={`Does this account belong to the owner of ${email}?`}
            text="Ask them first. An admin of a workspace created the account and may know its password, so confirming ends its password, second factor, sessions and tokens. Then send the person a reset link. After that, other workspaces can give them a role."
            verb="Confirm"
            onConfirm={async () => {
                await call("PATCH /api/v1/platform/users/{email}", {
                    path: { email },
                    body: { email_confirmed: true },
                });
                onDone();
            }}
        />
    );
}

function SignOutUser({ email }: { email: string }) {
    return (
        <ConfirmButton
            label="Sign out"
            name={`Sign out ${email}`}
            title={`Sign out ${email}?`}
            text="This ends all their sessions. They can sign in again; personal access tokens keep working."
            verb="Sign out"
            onConfirm={() =>
                call("DELETE /api/v1/platform/users/{email}/sessions", { path: { email } })
            }
        />
    );
}

function Roles({ user }: { user: User }) {
    return (
        <>
                {user.role === "platform_admin" && <Chip tone="busy">platform admin</Chip>}{" "}
                <span class="muted">
                    {user.tenants.map((one) => `${one.slug} (${one.role})`).join(", ")}
                </span>
        </>
    );
}

export function Users() {
    const [edited, setEdited] = useState<User | null | undefined>(undefined); // null: a new one
    const [inviting, setInviting] = useState(false);
    const [tokensOf, setTokensOf] = useState<string | null>(null); // an e-mail address
    const [made, setMade] = useState<LinkCreated | null>(null);
    const [version, setVersion] = useState(0); // of the invitations
    const users = useQuery(USERS, (signal) => call(USERS, { signal }));
    const close = () => setEdited(undefined);
    return (
        <>
            <ListCard
                title="Users"
                aside={
                    <>
                        <button type="button" onClick={() => setEdited(null)}>
                            New user
                        </button>{" "}
                        <button type="button" class="primary" onClick={() => setInviting(true)}>
                            <Icon name="plus" /> Invite
                        </button>
                    </>
                }
                above={made !== null && <LinkOutcome made={made} onDone={() => setMade(null)} />}
                loaded={users}
                rows={users.data?.users ?? []}
                keyOf={(user) => user.user_id}
                columns={[
                    { title: "E-mail", class: "grow", by: (user) => user.email, cell: (user) => <Address user={user} /> },
                    { title: "Roles", class: "grow", cell: (user) => <Roles user={user} /> },
                    {
                        title: "Last sign-in",
                        class: "fit",
                        label: "last sign-in",
                        by: (user) => Date.parse(user.last_login_at ?? "") || 0,
                        cell: (user) => <Time at={user.last_login_at} />,
                    },
                ]}
                buttons={(user) => (
                    <>
                        <button
                            type="button"
                            aria-label={`Change ${user.email}`}
                            onClick={() => setEdited(user)}
                        >
                            Change
                        </button>
                        <button
                            type="button"
                            aria-label={`Tokens of ${user.email}`}
                            onClick={() => setTokensOf(user.email)}
                        >
                            Tokens
                        </button>
                        <ResetUser email={user.email} onMade={setMade} />
                        <RemoveUser email={user.email} onRemoved={users.reload} />
                    </>
                )}
            >
                {edited !== undefined && (
                    <UserDialog
                        user={edited}
                        onClose={close}
                        onDone={() => {
                            close();
                            users.reload();
                        }}
                    />
                )}
                {tokensOf !== null && (
                    <UserTokens email={tokensOf} onClose={() => setTokensOf(null)} />
                )}
                {inviting && (
                    <InviteDialog
                        roles={ROLES}
                        initial="none"
                        send={(email, role) =>
                            call("POST /api/v1/platform/invitations", { body: { email, role } })
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
            <Invitations slug={null} version={version} />
        </>
    );
}
