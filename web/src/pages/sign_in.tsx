// Sign-in; set-up, where the first admin chooses a password; and links, by which others do.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { loadSession, type Session } from "../features/access/session";
import { SetUpForm, SignInForm } from "../features/access/sign_in_forms";
import { useRoute } from "../lib/route";
import { ErrorNote, Mark } from "../ui";

type LinkPage = ComponentType<{ token: string }>;

/** Few people open a link, so its page is a file of its own. */
function Link({ token }: { token: string }) {
    const [View, setView] = useState<LinkPage | null>(null);
    useEffect(() => {
        void import("../features/access/link").then((file) => setView(() => file.default));
    }, []);
    return View === null ? null : <View token={token} />;
}

interface Props {
    session: Exclude<Session, { state: "in" } | { state: "loading" }>;
}

export function SignIn({ session }: Props) {
    const { path, query } = useRoute();
    const code = path === "/setup" ? query.get("code") : null;
    const token = path === "/link" ? query.get("token") : null;
    return (
        <div class="sign-in">
            <header>
                <Mark /> muster
            </header>
            {session.state === "failed" ? (
                <ErrorNote error={session.error} retry={() => void loadSession()} />
            ) : token !== null ? (
                <Link token={token} />
            ) : code !== null ? (
                <SetUpForm code={code} />
            ) : (
                <SignInForm expired={session.expired} setup={session.setup} />
            )}
        </div>
    );
}
