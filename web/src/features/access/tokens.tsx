// Personal access tokens: a person's own, created here and shown once; an admin deletes others'.

import type { PersonalToken } from "api";
import { useRef, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { type ApiError, call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { useStore } from "../../lib/store";
import {
    ChoiceField,
    ConfirmButton,
    Copyable,
    Dialog,
    Empty,
    Form,
    Icon,
    ListCard,
    SecretOnce,
    TextField,
    Time,
} from "../../ui";
import { session } from "./session";

const OWN_TOKENS = "GET /api/v1/auth/tokens";
const OF_USER = "GET /api/v1/platform/users/{email}/tokens";

type Role = "member" | "admin" | "platform_admin";

const ROLES: { value: Role; label: string }[] = [
    { value: "member", label: "Read, acknowledge, mute and plan maintenance" },
    { value: "admin", label: "Read, and change settings and keys" },
    { value: "platform_admin", label: "All that you may do" },
];
const EXPIRIES = ["7", "30", "90", "366"].map((value) => ({ value, label: `${value} days` }));

/** What the service has asked for beside the token: the password, later a code. */
function useAsked(error: ApiError | null) {
    const asked = useRef({ current_password: false, code: false });
    for (const { loc } of error?.problems ?? []) {
        asked.current.current_password ||= loc.includes("current_password");
        asked.current.code ||= loc.includes("code");
    }
    return asked.current;
}

function CreateToken({ onCreated }: { onCreated: (token: string) => void }) {
    const now = useStore(session);
    const [open, setOpen] = useState(false);
    const [name, setName] = useState("");
    const [role, setRole] = useState<Role>("member");
    const [days, setDays] = useState("30");
    const [password, setPassword] = useState("");
    const [code, setCode] = useState("");
    const action = useAction();
    const asked = useAsked(action.error);
    const close = () => {
        setOpen(false);
        setName("");
        setRole("member");
        setDays("30");
        setPassword("");
        setCode("");
    };
    const isAdmin = now.state === "in" && now.me.role === "platform_admin";
    const create = async () => {
        const proof = { current_password: password || null, code: code || null };
        const body = { name, role, expires_in_days: Number(days), ...proof };
        const { token } = await call("POST /api/v1/auth/tokens", { body });
        close();
        onCreated(token);
    };
    return (
        <>
            <button type="button" class="primary" onClick={() => setOpen(true)}>
                <Icon name="plus" /> New token
            </button>
            {open && (
                <Dialog title="New personal access token" onClose={close}>
                    <Form
                        action={action}
                        submit="Create token"
                        onSubmit={create}
                        onCancel={close}
                    >
                        <p class="hint">
                            It acts as you in commands and scripts, in every workspace that you have
                            a role in. Agents use keys instead.
                        </p>
                        <TextField
                            label="Name"
                            name="name"
                            hint='What it is for, e.g. "laptop".'
                            required
                            focus
                            value={name}
                            onInput={setName}
                        />
                        <ChoiceField
                            label="It may"
                            choices={isAdmin ? ROLES : ROLES.slice(0, 2)}
                            value={role}
                            onInput={(to) => setRole(to as Role)}
                        />
                        <ChoiceField
                            label="Expires after"
                            choices={EXPIRIES}
                            value={days}
                            onInput={setDays}
                        />
                        {asked.current_password && (
                            <TextField
                                label="Current password"
                                name="current_password"
                                kind="password"
                                autoComplete="current-password"
                                required
                                focus
                                value={password}
                                onInput={setPassword}
                            />
                        )}
                        {asked.code && (
                            <TextField
                                label="Code"
                                name="code"
                                autoComplete="one-time-code"
                                required
                                focus
                                hint="Of your authenticator app, or a recovery code."
                                value={code}
                                onInput={setCode}
                            />
                        )}
                    </Form>
                </Dialog>
            )}
        </>
    );
}

const roleLabel = (token: PersonalToken) =>
    ROLES.find((one) => one.value === token.role)?.label ?? token.role;

const COLUMNS = [
    { title: "Name", class: "grow", cell: (token: PersonalToken) => token.name },
    { title: "May", class: "fit wide", label: "may", cell: roleLabel },
    {
        title: "ID",
        class: "fit wide",
        cell: (token: PersonalToken) => <Copyable text={token.token_id} />,
    },
    {
        title: "Created",
        class: "fit",
        label: "created",
        cell: (token: PersonalToken) => <Time at={token.created_at} />,
    },
    {
        title: "Expires",
        class: "fit",
        label: "expires",
        cell: (token: PersonalToken) => <Time at={token.expires_at} />,
    },
];

function DeleteToken(props: { token: PersonalToken; onConfirm: () => Promise<void> }) {
    const { name } = props.token;
    return (
        <ConfirmButton
            label="Delete"
            name={`Delete token ${name}`}
            title={`Delete ${name}?`}
            text="Commands and scripts that use it are refused from now on. This cannot be undone."
            verb="Delete"
            onConfirm={props.onConfirm}
        />
    );
}

/** One's own. */
export function TokensCard() {
    const [created, setCreated] = useState<string | null>(null);
    const tokens = useQuery(OWN_TOKENS, (signal) => call(OWN_TOKENS, { signal }));
    const remove = async (token_id: string) => {
        await call("DELETE /api/v1/auth/tokens/{token_id}", { path: { token_id } });
        tokens.reload();
    };
    return (
        <ListCard
            title="Personal access tokens"
            aside={
                <CreateToken
                    onCreated={(token) => {
                        setCreated(token);
                        tokens.reload();
                    }}
                />
            }
            above={
                created !== null && (
                    <SecretOnce
                        text={created}
                        title="Your new token."
                        onDone={() => setCreated(null)}
                    />
                )
            }
            loaded={tokens}
            empty={
                <Empty title="No tokens">
                    <p>
                        Use <code>muster login</code>, or create one for a script that calls the
                        API as you.
                    </p>
                </Empty>
            }
            rows={tokens.data?.tokens ?? []}
            keyOf={(token) => token.token_id}
            columns={COLUMNS}
            buttons={(token) => (
                <DeleteToken token={token} onConfirm={() => remove(token.token_id)} />
            )}
        />
    );
}

/** Another user's, for a platform admin: to see and to delete. */
export function UserTokens({ email, onClose }: { email: string; onClose: () => void }) {
    const tokens = useQuery(`${OF_USER} ${email}`, (signal) =>
        call(OF_USER, { path: { email }, signal }),
    );
    const remove = async (token_id: string) => {
        await call("DELETE /api/v1/platform/users/{email}/tokens/{token_id}", {
            path: { email, token_id },
        });
        tokens.reload();
    };
    return (
        <Dialog title={`Tokens of ${email}`} onClose={onClose} wide>
            <ListCard
                title="Personal access tokens"
                loaded={tokens}
                empty={<Empty title="No tokens" />}
                rows={tokens.data?.tokens ?? []}
                keyOf={(token) => token.token_id}
                columns={COLUMNS}
                buttons={(token) => (
                    <DeleteToken token={token} onConfirm={() => remove(token.token_id)} />
                )}
            />
        </Dialog>
    );
}
