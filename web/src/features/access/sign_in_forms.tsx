// The form to sign in, and the one to set up the service with its first admin.

import type { OidcState } from "api";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { type ApiError, call } from "../../lib/api";
import { navigate } from "../../lib/route";
import { ErrorNote, TextField, WithErrors } from "../../ui";
import { PASSWORD_MIN } from "./password";
import { goToProvider } from "./provider";
import { setUp, signIn } from "./session";
import { EmailField } from "./user_fields";

interface Props {
    title: string;
    submit: string;
    busyText: string;
    send: (email: string, password: string, code: string) => Promise<void>;
    isNew?: boolean; // the password is being chosen
    note?: ComponentChildren; // until there is an error
    children?: ComponentChildren; // below the button
}

function Credentials({ title, submit, busyText, send, isNew = false, note, children }: Props) {
    const [email, setEmail] = useState("");
    const [password, setPassword] = useState("");
    const [code, setCode] = useState("");
    const asksCode = useRef(false); // once the service has asked for one
    const { busy, error, perform } = useAction();
    asksCode.current ||= error?.problems.some((one) => one.loc.includes("code")) ?? false;
    return (
        <form
            onSubmit={(event) => {
                event.preventDefault();
                void perform(() => send(email, password, code));
            }}
        >
            <h1>{title}</h1>
            {!error && note}
            <WithErrors error={error}>
            <EmailField autoComplete="username" value={email} onInput={setEmail} />
            <TextField
                label="Password"
                name="password"
                kind="password"
                autoComplete={isNew ? "new-password" : "current-password"}
                required
                {...(isNew && {
                    min: PASSWORD_MIN,
                    hint: `At least ${PASSWORD_MIN} characters; a sentence is easier to remember than symbols.`,
                })}
                value={password}
                onInput={setPassword}
            />
            {asksCode.current && (
                <TextField
                    label="Code"
                    name="code"
                    autoComplete="one-time-code"
                    required
                    hint="Of your authenticator app, or a recovery code."
                    value={code}
                    onInput={setCode}
                />
            )}
            </WithErrors>
            <button type="submit" class="primary" disabled={busy}>
                {busy ? busyText : submit}
            </button>
            {children}
        </form>
    );
}

/** The button that leads to the identity provider. */
function ProviderButton({ name, primary }: { name: string; primary: boolean }) {
    const { busy, error, perform } = useAction();
    return (
        <>
            {error && <ErrorNote error={error} />}
            <button
                type="button"
                class={primary ? "primary" : undefined}
                disabled={busy}
                onClick={() => void perform(goToProvider)}
            >
                Sign in with {name}
            </button>
        </>
    );
}

interface SignInProps {
    expired: boolean;
    setup: boolean;
    problem: ApiError | null;
}

function SignInNotes({ expired, setup, problem }: SignInProps) {
    return (
        <>
            {problem && <ErrorNote error={problem} />}
            {expired && (
                <p class="note">Your session has ended. Sign in to continue where you were.</p>
            )}
            {setup && (
                <p class="note">
                    There are no accounts yet. Open the set-up link that the service printed when it
                    started.
                </p>
            )}
        </>
    );
}

export function SignInForm(props: SignInProps) {
    const [ways, setWays] = useState<OidcState | null>(null);
    useEffect(() => {
        // without an answer the password is the way that always was there
        call("GET /api/v1/auth/oidc", {}).then(setWays, () => undefined);
    }, []);
    const provider = ways?.enabled ? (ways.name ?? "single sign-on") : null;
    if (ways?.password_sign_in === false && provider !== null)
        return (
            <form>
                <h1>Sign in</h1>
                <SignInNotes {...props} />
                <ProviderButton name={provider} primary />
            </form>
        );
    return (
        <Credentials
            title="Sign in"
            submit="Sign in"
            busyText="Signing in…"
            send={signIn}
            note={<SignInNotes {...props} />}
        >
            {provider !== null && <ProviderButton name={provider} primary={false} />}
            <p class="hint">
                <a href="#/forgot">Forgot your password?</a> No account? Ask an admin of your
                workspace or the operator of the service for a link.
            </p>
        </Credentials>
    );
}

export function SetUpForm({ code }: { code: string }) {
    return (
        <Credentials
            title="Set up muster"
            submit="Create account"
            busyText="Creating the account…"
            isNew
            send={async (email, password) => {
                await setUp(code, email, password);
                navigate("/");
            }}
            note={
                <p class="hint">
                    You will be the first admin of this service. Nothing is sent anywhere else.
                </p>
            }
        />
    );
}
