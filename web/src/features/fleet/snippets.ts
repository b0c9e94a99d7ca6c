// Code that reports a first run, ready to paste.

export type Language = "curl" | "python" | "javascript";

export const LANGUAGES: { value: Language; label: string }[] = [
    { value: "curl", label: "curl" },
    { value: "python", label: "Python" },
    { value: "javascript", label: "JavaScript" },
];

/** crypto.randomUUID() is missing on pages over plain http from another machine. */
export function newRunId(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

interface Values {
    base: string; // URL of the service
    slug: string;
    key: string;
    run_id: string; // for curl; not every shell can create one
}

export function snippet(language: Language, { base, slug, key, run_id }: Values): string {
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
