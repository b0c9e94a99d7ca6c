// Sign-in; and set-up, where the first admin chooses a password.

import { loadSession, type Session } from "../features/access/session";
import { SetUpForm, SignInForm } from "../features/access/sign_in_forms";
import { useRoute } from "../lib/route";
import { ErrorNote, Mark } from "../ui";

interface Props {
    session: Exclude<Session, { state: "in" } | { state: "loading" }>;
}

export function SignIn({ session }: Props) {
    const { path, query } = useRoute();
    const code = path === "/setup" ? query.get("code") : null;
    return (
        <div class="sign-in">
            <header>
                <Mark /> muster
            </header>
            {session.state === "failed" ? (
                <ErrorNote error={session.error} retry={() => void loadSession()} />
            ) : code !== null ? (
                <SetUpForm code={code} />
            ) : (
                <SignInForm expired={session.expired} setup={session.setup} />
            )}
        </div>
    );
}
