// Code that reports a first run, ready to paste.

/** File names of the libraries that this service hands out, by the build. */
declare const MUSTER_LIBRARIES: { python: string; node: string };

export type Language = "curl" | "python" | "javascript" | "sdk_python" | "sdk_node" | "otlp";

export const LANGUAGES: { value: Language; label: string }[] = [
    { value: "curl", label: "curl" },
    { value: "python", label: "Python" },
    { value: "javascript", label: "JavaScript" },
    { value: "sdk_python", label: "Python library" },
    { value: "sdk_node", label: "Node.js library" },
    { value: "otlp", label: "OpenTelemetry" },
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

/** Those whose code begins with the installation of a library. */
export const isLibrary = (language: Language) => language.startsWith("sdk_");

/** For a shell: by the libraries for agents, with tokens and a KPI, or by OpenTelemetry's exporters. */
function library(language: Language, { base, slug, key }: Omit<Values, "run_id">): string {
    const settings = [
        `export MUSTER_URL=${base}`,
        `export MUSTER_TENANT=${slug}`,
        `export MUSTER_TOKEN=${key}`,
    ];
    switch (language) {
        case "sdk_python":
            return [
                `pip install ${base}/sdk/${MUSTER_LIBRARIES.python}`,
                ...settings,
                "cat > my_agent.py <<'END'",
                "import muster",
                "",
                'agent = muster.Agent("my-agent", kpis=["invoices"], interval=3600)',
                "",
                "with agent.run() as run:",
                '    run.step("Reading the inbox", category="inbox")',
                '    run.llm("gpt-4o", {"prompt_tokens": 1200, "completion_tokens": 80})',
                '    run.kpi("invoices", 12)',
                "END",
                "python3 my_agent.py",
            ].join("\n");
        case "sdk_node":
            return [
                `npm install ${base}/sdk/${MUSTER_LIBRARIES.node}`,
                ...settings,
                "cat > my_agent.mjs <<'END'",
                'import { Agent } from "muster";',
                "",
                'const agent = new Agent("my-agent", { kpis: ["invoices"], interval: 3600 });',
                "",
                "await agent.run(async (run) => {",
                '    run.step("Reading the inbox", { category: "inbox" });',
                '    run.llm("gpt-4o", { prompt_tokens: 1200, completion_tokens: 80 });',
                '    run.kpi("invoices", 12);',
                "});",
                "END",
                "node my_agent.mjs",
            ].join("\n");
        default:
            return [
                "# for any program with an OpenTelemetry exporter; its service name is the agent",
                "export OTEL_SERVICE_NAME=my-agent",
                `export OTEL_EXPORTER_OTLP_ENDPOINT=${base}`,
                "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
                `export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20${key}"`,
            ].join("\n");
    }
}

export function snippet(language: Language, { base, slug, key, run_id }: Values): string {
    switch (language) {
        case "curl":
            return [
                `curl ${base}/api/v1/telemetry/batch \\`,
                `  -H 'Authorization: Bearer ${key}' \\`,
                `  -H 'Content-Type: application/json' -d '{"events": [`,
                `    {"event_id": "${run_id}-0", "client_id": "${slug}", "agent_name": "my-agent", "event": "started",`,
                `     "run_id": "${run_id}",`,
                `     "timestamp": "'$(date -u +%FT%TZ)'"},`,
                `    {"event_id": "${run_id}-1", "client_id": "${slug}", "agent_name": "my-agent", "event": "completed",`,
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
        case "javascript":
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
        default:
            return library(language, { base, slug, key });
    }
}
