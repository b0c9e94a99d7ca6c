// One request of /docs: its URL, its text for a shell, and its answer as it arrives.

import type { Entry } from "./document";

const SHOWN_MAX = 200_000; // characters of an answer: an export has no end in sight

export type Values = Record<string, string>;

export interface Sent {
    status: number;
    headers: [string, string][];
    text: string;
    ms: number;
    cut: boolean;
}

export function urlOf({ path, operation }: Entry, values: Values): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(values[name] ?? ""),
    );
    const query = new URLSearchParams();
    for (const one of operation.parameters ?? [])
        if (one.in === "query" && values[one.name]) query.set(one.name, values[one.name]!);
    const text = query.toString();
    return text === "" ? filled : `${filled}?${text}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The request for a shell. The key stays out of it, and so out of the shell's history. */
export function asCommand(entry: Entry, values: Values, body: string | null): string {
    const parts = [`curl -X ${entry.method} ${quoted(location.origin + urlOf(entry, values))}`];
    if (entry.operation.security.length > 0)
        parts.push(`-H "Authorization: Bearer $MUSTER_KEY"`);
    if (body !== null) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
    return parts.join(" \\\n  ");
}

async function read(reply: Response, onText: (text: string) => void): Promise<[string, boolean]> {
    const reader = reply.body?.getReader();
    const decoder = new TextDecoder();
    let text = "";
    while (reader) {
        const { done, value } = await reader.read();
        if (done) break;
        text += decoder.decode(value, { stream: true });
        onText(text.slice(0, SHOWN_MAX));
        if (text.length > SHOWN_MAX) {
            await reader.cancel();
            return [text.slice(0, SHOWN_MAX), true];
        }
    }
    return [text, false];
}

/** Sends with the key only: no cookie goes along, so that a page that is signed in changes nothing
 * by accident. */
export async function sendRequest(
    entry: Entry,
    given: { values: Values; body: string | null; key: string; signal: AbortSignal },
    onText: (sent: Sent) => void,
): Promise<void> {
    const headers: Record<string, string> = {};
    if (given.key !== "") headers["Authorization"] = `Bearer ${given.key}`;
    if (given.body !== null) headers["Content-Type"] = "application/json";
    const began = performance.now();
    const reply = await fetch(urlOf(entry, given.values), {
        method: entry.method,
        headers,
        credentials: "omit",
        cache: "no-store",
        body: given.body,
        signal: given.signal,
    });
    const sent: Sent = {
        status: reply.status,
        headers: [...reply.headers],
        text: "",
        ms: Math.round(performance.now() - began),
        cut: false,
    };
    onText(sent);
    const [text, cut] = await read(reply, (so_far) => onText({ ...sent, text: so_far }));
    onText({ ...sent, text, cut });
}
