// The page of an invitation or reset link: what it is for, and the person's new password.

import type { LinkShown } from "api";
import { useEffect, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { asApiError, call } from "../../lib/api";
import { navigate } from "../../lib/route";
import { TextField, Time, WithErrors } from "../../ui";
import { PASSWORD_MIN } from "./password";
import { signIn } from "./session";
import { MEMBER_MAY } from "./user_fields";

/** "You are invited to Acme (member: can view …)." */
function Purpose({ link }: { link: LinkShown }) {
    if (link.kind === "reset")
        return <p class="hint">Choose a new password for {link.email}. It ends all your sessions.</p>;
    const roles = link.tenants.map(
        ({ name, slug, role }) =>
            `${name || slug} (${role === "member" ? `member: ${MEMBER_MAY}` : role})`,
    );
    if (link.role === "platform_admin") roles.unshift("the whole service (platform admin)");
    return (
        <p class="hint">
            {link.email} is invited{roles.length > 0 && <> to {roles.join(", ")}</>}. Choose a
            password; the link expires <Time at={link.expires_at} />.
        </p>
    );
}

function Choose({ token, link }: { token: string; link: LinkShown }) {
    const [password, setPassword] = useState("");
    const { busy, error, perform } = useAction();
    const isReset = link.kind === "reset";
    const accept = async () => {
        await call("POST /api/v1/auth/link/accept", { body: { token, password } });
        navigate("/");
        await signIn(link.email, password).catch(() => {}); // a second factor is asked for there
    };
    return (
        <form
            onSubmit={(event) => {
                event.preventDefault();
                void perform(accept);
            }}
        >
            <h1>{isReset ? "Choose a new password" : "Welcome to muster"}</h1>
            {!error && <Purpose link={link} />}
            <input type="hidden" name="username" autocomplete="username" value={link.email} />
            <WithErrors error={error}>
                <TextField
                    label="Password"
                    name="password"
                    kind="password"
                    autoComplete="new-password"
                    required
                    focus
                    min={PASSWORD_MIN}
                    hint={`At least ${PASSWORD_MIN} characters; a sentence is easier to remember than symbols.`}
                    value={password}
                    onInput={setPassword}
                />
            </WithErrors>
            <button type="submit" class="primary" disabled={busy}>
                {isReset ? "Set password" : "Create account"}
            </button>
        </form>
    );
}

export default function LinkPage({ token }: { token: string }) {
    const [link, setLink] = useState<LinkShown | null>(null);
    const [problem, setProblem] = useState("");
    useEffect(() => {
        setLink(null);
        setProblem("");
        call("POST /api/v1/auth/link", { body: { token } }).then(setLink, (error: unknown) =>
            setProblem(asApiError(error).message),
        );
    }, [token]);
    if (problem !== "")
        return (
            <form>
                <h1>This link does not work</h1>
                <p class="note" role="alert">
                    {problem}.
                </p>
                <p>
                    <a href="#/">Go to sign-in</a>
                </p>
            </form>
        );
    return link === null ? <p class="muted">Opening the link…</p> : <Choose token={token} link={link} />;
}
