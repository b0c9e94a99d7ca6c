// What a workspace without agents sees: how the first event gets here, ready to paste.

import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { useMay } from "../access/session";
import { CopyButton, ErrorNote, Segments } from "../../ui/basics";

type Language = "curl" | "python" | "javascript";

const LANGUAGES: { value: Language; label: string }[] = [
    { value: "curl", label: "curl" },
    { value: "python", label: "Python" },
    { value: "javascript", label: "JavaScript" },
];

/** Not every page may use crypto.randomUUID(): it wants TLS or this very machine. */
function newRunId(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

interface Filled {
    base: string;
    slug: string;
    key: string;
    run_id: string; // for a shell, which cannot make one everywhere
}

function snippet(language: Language, { base, slug, key, run_id }: Filled): string {
    switch (language) {
        case "curl":
            return [
                `curl ${base}/api/v1/telemetry/batch \\`,
                `  -H 'Authorization: Bearer ${key}' \\`,
                `  -H 'Content-Type: application/json' -d '{"events": [`,
                `    {"client_id": "${slug}", "agent_name": "my-agent", "event": "started",`,
                `     "run_id": "${run_id}",`,
                `     "timestamp": "'$(date -u +%FT%TZ)'"},`,
                `    {"client_id": "${slug}", "agent_name": "my-agent", "event": "completed",`,
                `     "run_id": "${run_id}",`,
                `     "timestamp": "'$(date -u +%FT%TZ)'", "seq": 1, "message": "Hello"}]}'`,
            ].join("\n");
        case "python":
            return [
                "import json, uuid, urllib.request",
                "from datetime import datetime, timezone",
                "",
                "run_id = str(uuid.uuid4())",
                "",
                "def report(event, **more):",
                `    body = {"client_id": "${slug}", "agent_name": "my-agent", "run_id": run_id,`,
                `            "event": event, "timestamp": datetime.now(timezone.utc).isoformat(), **more}`,
                "    urllib.request.urlopen(urllib.request.Request(",
                `        "${base}/api/v1/telemetry", json.dumps(body).encode(),`,
                `        {"Authorization": "Bearer ${key}",`,
                `         "Content-Type": "application/json"}))`,
                "",
                'report("started")',
                'report("in_progress", message="Hello", category="work", seq=1)',
                'report("completed", seq=2)',
            ].join("\n");
        default:
            return [
                "const run_id = crypto.randomUUID();",
                "",
                "const report = (event, more = {}) =>",
                `  fetch("${base}/api/v1/telemetry", {`,
                '    method: "POST",',
                "    headers: {",
                `      Authorization: "Bearer ${key}",`,
                '      "Content-Type": "application/json",',
                "    },",
                "    body: JSON.stringify({",
                `      client_id: "${slug}", agent_name: "my-agent", run_id, event,`,
                "      timestamp: new Date().toISOString(), ...more,",
                "    }),",
                "  });",
                "",
                'await report("started");',
                'await report("in_progress", { message: "Hello", category: "work", seq: 1 });',
                'await report("completed", { seq: 2 });',
            ].join("\n");
    }
}

/** The page around it asks again and again: the first event takes this away. */
export function StartHere({ slug }: { slug: string }) {
    const { admin } = useMay(slug);
    const [language, setLanguage] = useState<Language>("curl");
    const [key, setKey] = useState<string | null>(null);
    const { busy, error, act } = useAct();
    const make = () =>
        act(async () => {
            const body = { label: "first steps" };
            const made = await call("POST /api/v1/tenants/{slug}/keys", { path: { slug }, body });
            setKey(made.token);
        });
    const [run_id] = useState(newRunId);
    const text = snippet(language, {
        base: location.origin,
        slug,
        key: key ?? "YOUR_KEY",
        run_id,
    });
    return (
        <section class="start">
            <p class="lead">
                No agent has reported yet. An agent appears with its first event; nothing has to be
                set up before.
            </p>
            <ol>
                <li>
                    <h2>1. A key</h2>
                    {error && <ErrorNote error={error} />}
                    {key !== null ? (
                        <p class="secret">
                            <code>{key}</code>
                            <CopyButton text={key} label="Copy the key" />
                        </p>
                    ) : admin ? (
                        <button
                            type="button"
                            class="primary"
                            disabled={busy}
                            onClick={() => void make()}
                        >
                            Make a key
                        </button>
                    ) : (
                        <p class="muted">Ask an admin of this workspace for one.</p>
                    )}
                    {key !== null && (
                        <p class="hint">
                            It is shown this once. The lines below have it already.
                        </p>
                    )}
                </li>
                <li>
                    <h2>2. A first event</h2>
                    <Segments
                        label="Language"
                        choices={LANGUAGES}
                        value={language}
                        onChange={(to) => setLanguage(to as Language)}
                    />
                    <div class="snippet" tabIndex={0} role="region" aria-label="To paste">
                        <pre>{text}</pre>
                        <CopyButton text={text} label="Copy these lines" />
                    </div>
                </li>
                <li>
                    <h2>3. Look here</h2>
                    <p class="waiting" role="status">
                        <i class="dot" /> Waiting for the first event of {slug}
                    </p>
                </li>
            </ol>
        </section>
    );
}
