// Log-in; and set-up, where the first admin chooses a password.

import { useState } from "preact/hooks";

import { ApiError } from "../lib/api";
import { go, usePlace } from "../lib/route";
import { ask, logIn, type Session, setUp } from "../features/access/session";
import { ErrorNote, Field } from "../ui/basics";
import { Mark } from "../app/shell";

const PASSWORD_LEAST = 12;

function useForm(send: () => Promise<void>) {
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<ApiError | null>(null);
    const submit = async (event: Event) => {
        event.preventDefault();
        setBusy(true);
        setError(null);
        try {
            await send();
        } catch (problem) {
            setError(problem instanceof ApiError ? problem : new ApiError(0, String(problem)));
            setBusy(false);
        }
    };
    return { busy, error, submit };
}

interface InputProps {
    label: string;
    type: "email" | "password";
    auto: string;
    value: string;
    onInput: (to: string) => void;
    first?: boolean;
    least?: number;
    hint?: string;
}

function Input(props: InputProps) {
    const shared = {
        autoComplete: props.auto,
        required: true,
        autoFocus: props.first,
        minLength: props.least,
        value: props.value,
        onInput: (event: { currentTarget: HTMLInputElement }) =>
            props.onInput(event.currentTarget.value),
    };
    return (
        <Field label={props.label} hint={props.hint}>
            {(id) =>
                props.type === "email" ? (
                    <input id={id} type="email" {...shared} />
                ) : (
                    <input id={id} type="password" {...shared} />
                )
            }
        </Field>
    );
}

function LogIn({ expired, setup }: { expired: boolean; setup: boolean }) {
    const [email, setEmail] = useState("");
    const [password, setPassword] = useState("");
    const { busy, error, submit } = useForm(() => logIn(email, password));
    return (
        <form onSubmit={submit}>
            <h1>Log in</h1>
            {expired && !error && (
                <p class="note">Your session has ended. Log in to go on where you were.</p>
            )}
            {setup && !error && (
                <p class="note">
                    Nobody has an account yet. Open the set-up link that the service printed when it
                    started.
                </p>
            )}
            {error && <ErrorNote error={error} />}
            <Input
                label="E-mail"
                type="email"
                auto="username"
                first
                value={email}
                onInput={setEmail}
            />
            <Input
                label="Password"
                type="password"
                auto="current-password"
                value={password}
                onInput={setPassword}
            />
            <button type="submit" class="primary" disabled={busy}>
                {busy ? "Logging in…" : "Log in"}
            </button>
            <p class="hint">
                No account? An admin of your workspace can add you; whoever runs the service can
                with <code>muster user add</code>.
            </p>
        </form>
    );
}

function SetUp({ code }: { code: string }) {
    const [email, setEmail] = useState("");
    const [password, setPassword] = useState("");
    const { busy, error, submit } = useForm(async () => {
        await setUp(code, email, password);
        go("/");
    });
    return (
        <form onSubmit={submit}>
            <h1>Set up muster</h1>
            <p class="hint">
                You will be the first admin of this service. Nothing is sent anywhere else.
            </p>
            {error && <ErrorNote error={error} />}
            <Input
                label="Your e-mail"
                type="email"
                auto="username"
                first
                value={email}
                onInput={setEmail}
            />
            <Input
                label="Password"
                type="password"
                auto="new-password"
                least={PASSWORD_LEAST}
                value={password}
                onInput={setPassword}
                hint={`At least ${PASSWORD_LEAST} characters; a sentence is easier to keep than symbols.`}
            />
            <button type="submit" class="primary" disabled={busy}>
                {busy ? "One moment…" : "Make the account"}
            </button>
        </form>
    );
}

export function SignIn({
    session,
}: {
    session: Exclude<Session, { state: "in" } | { state: "asking" }>;
}) {
    const { path, query } = usePlace();
    const code = path === "/setup" ? query.get("code") : null;
    return (
        <div class="sign-in">
            <header>
                <Mark /> muster
            </header>
            {session.state === "failed" ? (
                <ErrorNote error={session.error} retry={() => void ask()} />
            ) : code !== null ? (
                <SetUp code={code} />
            ) : (
                <LogIn expired={session.expired} setup={session.setup} />
            )}
        </div>
    );
}
