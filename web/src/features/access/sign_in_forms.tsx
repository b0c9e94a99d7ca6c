// The form to sign in, and the one to set up the service with its first admin.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { navigate } from "../../lib/route";
import { TextField, WithErrors } from "../../ui";
import { PASSWORD_MIN } from "./password";
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

export function SignInForm({ expired, setup }: { expired: boolean; setup: boolean }) {
    return (
        <Credentials
            title="Sign in"
            submit="Sign in"
            busyText="Signing in…"
            send={signIn}
            note={
                <>
                    {expired && (
                        <p class="note">
                            Your session has ended. Sign in to continue where you were.
                        </p>
                    )}
                    {setup && (
                        <p class="note">
                            There are no accounts yet. Open the set-up link that the service printed
                            when it started.
                        </p>
                    )}
                </>
            }
        >
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
