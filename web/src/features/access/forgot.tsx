// The page of a person who forgot the password: asks for a link by e-mail, if the service can send it.

import { useEffect, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { WithErrors } from "../../ui";
import { EmailField } from "./user_fields";

const toSignIn = (
    <p>
        <a href="#/">Back to sign-in</a>
    </p>
);

function Ask({ onSent }: { onSent: (email: string) => void }) {
    const [email, setEmail] = useState("");
    const { busy, error, perform } = useAction();
    const send = async () => {
        await call("POST /api/v1/auth/forgot", { body: { email } });
        onSent(email);
    };
    return (
        <form
            onSubmit={(event) => {
                event.preventDefault();
                void perform(send);
            }}
        >
            <h1>Forgot your password?</h1>
            {!error && (
                <p class="hint">We send a link to your address, with which you choose a new one.</p>
            )}
            <WithErrors error={error}>
                <EmailField autoComplete="username" value={email} onInput={setEmail} />
            </WithErrors>
            <button type="submit" class="primary" disabled={busy}>
                {busy ? "Sending…" : "Send link"}
            </button>
            {toSignIn}
        </form>
    );
}

export default function ForgotPage() {
    const [possible, setPossible] = useState<boolean | null>(null);
    const [sentTo, setSentTo] = useState("");
    useEffect(() => {
        call("GET /api/v1/auth/setup", {}).then(
            (state) => setPossible(state.mails_links),
            () => setPossible(false),
        );
    }, []);
    if (possible === null) return null;
    if (possible && sentTo === "") return <Ask onSent={setSentTo} />;
    return (
        <form>
            <h1>{possible ? "Look into your mailbox" : "Forgot your password?"}</h1>
            <p class="hint" role="status">
                {possible
                    ? `If there is an account for ${sentTo}, a link is on its way. It works once, within an hour. No mail? Look into the spam folder, or ask the operator of the service.`
                    : "This service sends no e-mail. Ask a platform admin or the operator of the service for a link with which you choose a new password; an admin of a workspace cannot make one."}
            </p>
            {toSignIn}
        </form>
    );
}
