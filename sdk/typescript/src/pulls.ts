// What an agent asks the service for: its model, command policy, document and configuration.
//
// Every answer is kept on disk with its ETag. An unchanged one is not transferred again, and while
// the service is away the last known good one is used; an answer that is not the service's own,
// such as a proxy's page, counts as away. The configuration may hold secrets: its file is readable
// by the agent's user only, like the folder it is in.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Refused, Unavailable, type Report, type Warn } from "./errors.js";
import { writeDurably, type State } from "./state.js";
import type { Answer, Transport } from "./transport.js";

interface Known {
    etag: string | null;
    body: Report | null;
}

export class Pulls {
    private readonly known = new Map<string, Known>();

    constructor(
        private readonly transport: Transport,
        private readonly agentName: string,
        private readonly state: State | undefined,
        private readonly warn: Warn,
    ) {}

    /**
     * The body of `GET /api/v1/agents/<kind>`; null: the agent has no document. Throws Unavailable
     * when the service is away and no answer is known, Refused when the key is not accepted (an
     * agent whose key was revoked gets nothing from disk), ApiError otherwise.
     */
    async get(kind: string, keep: boolean): Promise<Report | null> {
        const known = keep ? this.recall(kind) : undefined;
        try {
            const answer = await this.ask(kind, known);
            if (answer?.status === 304 && known) return known.body;
            const body = answer?.record() ?? null;
            if (keep) this.keep(kind, { etag: answer?.headers.etag ?? null, body });
            return body;
        } catch (error) {
            if (!(error instanceof Unavailable) || !known) throw error;
            this.warn(`${kind} of ${this.agentName}: using the last known (${error.message})`);
            return known.body;
        }
    }

    /** The answer; undefined: the service says that the agent has no document. */
    private async ask(kind: string, known: Known | undefined): Promise<Answer | undefined> {
        const headers: Record<string, string> = known?.etag ? { "If-None-Match": known.etag } : {};
        const query = { agent_name: this.agentName };
        try {
            return await this.transport.call("GET", `/api/v1/agents/${kind}`, { query, headers });
        } catch (error) {
            if (!(error instanceof Refused)) throw error;
            const { status, own } = error;
            if (status === 401 || (status === 403 && own)) throw error;
            if (status === 404 && own && kind === "document") return undefined;
            throw new Unavailable(`no answer of the service: ${error.message}`);
        }
    }

    private recall(kind: string): Known | undefined {
        if (!this.known.has(kind) && this.state) {
            try {
                const path = join(this.state.folder, `${kind}.json`);
                const kept = JSON.parse(readFileSync(path, "utf8")) as Known;
                const none = kept.body === null && kind === "document";
                if (none || typeof (kept.body ?? 0) === "object") this.known.set(kind, kept);
            } catch {
                // never kept, or broken: it is asked for
            }
        }
        return this.known.get(kind);
    }

    private keep(kind: string, known: Known): void {
        this.known.set(kind, known);
        if (!this.state?.writable) return;
        try {
            const path = join(this.state.folder, `${kind}.json`);
            writeDurably(path, Buffer.from(JSON.stringify(known)));
        } catch (error) {
            this.warn(`${kind}: not kept on disk: ${String(error)}`);
        }
    }
}
