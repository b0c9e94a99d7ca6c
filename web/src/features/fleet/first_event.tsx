// How an agent reports, ready to paste: what a workspace without agents shows, and a page of its own.

import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { CopyButton, ErrorNote, Segments } from "../../ui";
import { useRoles } from "../access/session";
import { isLibrary, type Language, LANGUAGES, newRunId, snippet } from "./snippets";

interface KeyStepProps {
    slug: string;
    token: string | null; // null: not created yet
    onCreated: (token: string) => void;
}

function KeyStep({ slug, token, onCreated }: KeyStepProps) {
    const { admin } = useRoles(slug);
    const { busy, error, perform } = useAction();
    const create = async () => {
        const body = { label: "first steps" };
        const key = await call("POST /api/v1/tenants/{slug}/keys", { path: { slug }, body });
        onCreated(key.token);
    };
    return (
        <>
            {error && <ErrorNote error={error} />}
            {token !== null ? (
                <>
                    <p class="secret">
                        <code>{token}</code>
                        <CopyButton text={token} label="Copy the key" />
                    </p>
                    <p class="hint">
                        It will not be shown again. The code below already contains it.
                    </p>
                </>
            ) : admin ? (
                <button
                    type="button"
                    class="primary"
                    disabled={busy}
                    onClick={() => void perform(create)}
                >
                    Create key
                </button>
            ) : (
                <p class="muted">Ask an admin of this workspace for a key.</p>
            )}
        </>
    );
}

function LibraryHint({ python }: { python: boolean }) {
    return (
        <p class="hint">
            To be pasted into a shell. The library comes from this service: what is called{" "}
            <code>muster</code> on {python ? "PyPI" : "npm"} is another project.
            {python && (
                <>
                    {" "}
                    Where pip wants a virtual environment, as on Debian, begin with{" "}
                    <code>python3 -m venv .venv && . .venv/bin/activate</code>.
                </>
            )}
        </p>
    );
}

/** A key, and the code that uses it. It cannot be copied before there is a key to put into it. */
function Steps({ slug }: { slug: string }) {
    const { admin } = useRoles(slug);
    const [language, setLanguage] = useState<Language>("curl");
    const [token, setToken] = useState<string | null>(null);
    const [run_id] = useState(newRunId);
    const code = snippet(language, {
        base: location.origin,
        slug,
        key: token ?? "YOUR_KEY",
        run_id,
    });
    return (
        <>
                <li>
                    <h2>1. Create a key</h2>
                    <KeyStep slug={slug} token={token} onCreated={setToken} />
                </li>
                <li>
                    <h2>2. Send a first event</h2>
                    <Segments
                        label="Language"
                        choices={LANGUAGES}
                        value={language}
                        onChange={(to) => setLanguage(to as Language)}
                    />
                    <div class="snippet" tabIndex={0} role="region" aria-label="Code to paste">
                        <pre>{code}</pre>
                        {(token !== null || !admin) && (
                            <CopyButton text={code} label="Copy the code" />
                        )}
                    </div>
                    {isLibrary(language) && <LibraryHint python={language === "sdk_python"} />}
                    {token === null && admin && (
                        <p class="hint">Create a key first: the code then contains it.</p>
                    )}
                    <p class="hint">
                        Everything else that an agent can send: <a href="/docs">the API</a>.
                    </p>
                </li>
        </>
    );
}

/** The page polls, so the first event replaces this with the fleet. */
export function FirstEvent({ slug }: { slug: string }) {
    return (
        <section class="start">
            <p class="lead">
                No agent has reported yet. An agent appears with its first event; no other set-up is
                needed.
            </p>
            <ol>
                <Steps slug={slug} />
                <li>
                    <h2>3. See it here</h2>
                    <p class="waiting" role="status">
                        <i class="dot" /> Waiting for the first event of {slug}
                    </p>
                </li>
            </ol>
        </section>
    );
}

/** The same for a workspace that has agents. */
export function ConnectSteps({ slug }: { slug: string }) {
    return (
        <section class="start">
            <p class="lead">
                An agent appears in the fleet with its first event; no other set-up is needed.
            </p>
            <ol>
                <Steps slug={slug} />
            </ol>
        </section>
    );
}
