// Where the person is signed in: every session, and how to end those of other devices.

import type { ListedSession } from "api";

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { Chip, ConfirmButton, ListCard, Time } from "../../ui";

const SESSIONS = "GET /api/v1/auth/sessions";

/** "Firefox on Linux": enough to recognise one's own browser. The whole text is its title. */
function browserName(agent: string): string {
    const browser = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].find((one) => agent.includes(`${one}/`));
    const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux"].find((one) => agent.includes(one));
    const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS" };
    if (browser === undefined) return agent.slice(0, 40) || "Unknown browser";
    const name = names[browser] ?? browser;
    return system === undefined ? name : `${name} on ${names[system] ?? system}`;
}

function Where({ session }: { session: ListedSession }) {
    return (
        <>
            <span title={session.user_agent}>{browserName(session.user_agent)}</span>{" "}
            {session.current && <Chip tone="busy">this browser</Chip>}
        </>
    );
}

export function SessionsCard() {
    const sessions = useQuery(SESSIONS, (signal) => call(SESSIONS, { signal }));
    const rows = sessions.data?.sessions ?? [];
    const end = async (session_id: string) => {
        await call("DELETE /api/v1/auth/sessions/{session_id}", { path: { session_id } });
        sessions.reload();
    };
    const endOthers = async () => {
        await call("DELETE /api/v1/auth/sessions", {});
        sessions.reload();
    };
    return (
        <ListCard
            title="Where you are signed in"
            aside={
                rows.length > 1 && (
                    <ConfirmButton
                        label="Sign out everywhere else"
                        title="Sign out everywhere else?"
                        text="Every other browser has to sign in again. Personal access tokens keep working."
                        verb="Sign out"
                        onConfirm={endOthers}
                    />
                )
            }
            loaded={sessions}
            rows={rows}
            keyOf={(session) => session.session_id}
            columns={[
                { title: "Browser", class: "grow", cell: (session) => <Where session={session} /> },
                { title: "Address", class: "fit", label: "from", cell: (session) => session.address },
                {
                    title: "Signed in",
                    class: "fit",
                    label: "signed in",
                    cell: (session) => <Time at={session.created_at} />,
                },
                {
                    title: "Last used",
                    class: "fit",
                    label: "last used",
                    cell: (session) => <Time at={session.last_used_at} />,
                },
            ]}
            buttons={(session) =>
                !session.current && (
                    <ConfirmButton
                        label="Sign out"
                        name={`Sign out ${browserName(session.user_agent)}, ${session.address}`}
                        title="Sign out this browser?"
                        text="It has to sign in again."
                        verb="Sign out"
                        onConfirm={() => end(session.session_id)}
                    />
                )
            }
        />
    );
}
