// Sign-in; set-up, where the first admin chooses a password; and links, by which others do.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { loadSession, type Session } from "../features/access/session";
import { SetUpForm, SignInForm } from "../features/access/sign_in_forms";
import { ApiError } from "../lib/api";
import { useRoute } from "../lib/route";
import { ErrorNote, Mark } from "../ui";

type LinkPage = ComponentType<{ token: string }>;

const LINK = () => import("../features/access/link");
const FORGOT = () => import("../features/access/forgot");

/** Few people open these, so each is a file of its own. */
function Rare({ load, token = "" }: { load: () => Promise<{ default: LinkPage }>; token?: string }) {
    const [View, setView] = useState<LinkPage | null>(null);
    useEffect(() => {
        void load().then((file) => setView(() => file.default));
    }, [load]);
    return View === null ? null : <View token={token} />;
}

const USED = new ApiError(410, "This set-up link was used: there is an account. Sign in.");

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
                <Rare load={LINK} token={token} />
            ) : path === "/forgot" ? (
                <Rare load={FORGOT} />
            ) : code !== null && session.setup ? (
                <SetUpForm code={code} />
            ) : (
                <SignInForm
                    expired={session.expired}
                    setup={session.setup}
                    problem={code === null ? (session.problem ?? null) : USED}
                />
            )}
        </div>
    );
}
