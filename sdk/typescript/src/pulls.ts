// What an agent asks the service for: its model, command policy, document and configuration.
//
// Every answer is kept on disk with its ETag. An unchanged one is not transferred again, and while
// the service is away the last known good one is used. The configuration may hold secrets: its file
// is readable by the agent's user only, like the folder it is in.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Refused, Unavailable } from "./errors.js";
import { writeDurably } from "./state.js";
import type { Transport } from "./transport.js";

interface Known {
    etag: string | null;
    body: unknown;
}

export class Pulls {
    private readonly known = new Map<string, Known>();

    constructor(
        private readonly transport: Transport,
        private readonly agentName: string,
        private readonly folder: string | undefined,
        private readonly warn: (text: string) => void,
    ) {}

    /**
     * The body of `GET /api/v1/agents/<kind>`; null for 404. Throws Unavailable when the service is
     * away and no answer is known, Refused when the key is not accepted (an agent whose key was
     * revoked gets nothing from disk), ApiError otherwise.
     */
    async get(kind: string, keep: boolean): Promise<unknown> {
        const known = keep ? this.recall(kind) : undefined;
        const headers: Record<string, string> = known?.etag ? { "If-None-Match": known.etag } : {};
        const query = { agent_name: this.agentName };
        try {
            const path = `/api/v1/agents/${kind}`;
            const answer = await this.transport.call("GET", path, { query, headers });
            if (answer.status === 304 && known) return known.body;
            const body: unknown = JSON.parse(answer.body);
            if (keep) this.keep(kind, { etag: answer.headers.get("ETag"), body });
            return body;
        } catch (error) {
            if (error instanceof Unavailable && known) {
                this.warn(`${kind} of ${this.agentName}: using the last known (${error.message})`);
                return known.body;
            }
            if (!(error instanceof Refused) || error.status !== 404) throw error;
            if (keep) this.keep(kind, { etag: null, body: null });
            return null;
        }
    }

    private path(kind: string): string | undefined {
        return this.folder && join(this.folder, `${kind}.json`);
    }

    private recall(kind: string): Known | undefined {
        const path = this.path(kind);
        if (!this.known.has(kind) && path) {
            try {
                const kept = JSON.parse(readFileSync(path, "utf8")) as Known;
                if ("etag" in kept && "body" in kept) this.known.set(kind, kept);
            } catch {
                // never kept, or broken: it is asked for
            }
        }
        return this.known.get(kind);
    }

    private keep(kind: string, known: Known): void {
        this.known.set(kind, known);
        const path = this.path(kind);
        if (path === undefined) return;
        try {
            writeDurably(path, Buffer.from(JSON.stringify(known)));
        } catch (error) {
            this.warn(`${kind}: not kept on disk: ${String(error)}`);
        }
    }
}
