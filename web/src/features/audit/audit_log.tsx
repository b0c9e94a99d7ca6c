// The audit log: who changed what, when and from where; and whether it is unaltered.

import type { AuditEntry } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { type Answer, call } from "../../lib/api";
import { actorName, count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { setQuery, useRoute } from "../../lib/route";
import { Chip, Empty, ListCard, Pager, SearchField, Time } from "../../ui";

const OF_TENANT = "/api/v1/tenants/{slug}/audit";
const OF_PLATFORM = "/api/v1/platform/audit";
const PAGE = 50;

type Get = `GET ${typeof OF_TENANT}`;
type VerifyGet = `GET ${typeof OF_TENANT}/verify`;

const pathOf = (slug: string | null) => (slug === null ? OF_PLATFORM : OF_TENANT);

function IntegrityCheck({ slug }: { slug: string | null }) {
    const [result, setResult] = useState<Answer<VerifyGet> | null>(null);
    const { busy, error, perform } = useAction();
    const verify = async () => {
        const get = `GET ${pathOf(slug)}/verify` as VerifyGet;
        setResult(await call(get, { path: { slug: slug ?? "" } }));
    };
    return (
        <>
            <span role="status">
                {error && error.message}
                {result?.ok && (
                    <Chip tone="good">{`${count(result.entries)} entries, unaltered`}</Chip>
                )}
                {result && !result.ok && (
                    <Chip tone="bad">{`Entry ${result.seq}: ${result.problem}`}</Chip>
                )}
            </span>
            <button type="button" disabled={busy} onClick={() => void perform(verify)}>
                {busy ? "Checking…" : "Check integrity"}
            </button>
        </>
    );
}

/** The target; some entries name it by its path in the API. */
function targetOf(entry: AuditEntry): string {
    const found = /^\/api\/v1\/(?:tenants\/[^/]+|platform)\/(.+)$/.exec(entry.target);
    if (found === null) return entry.target;
    try {
        return decodeURIComponent(found[1] ?? "").replace(
            /^agents\/(.+)\/([\w-]+)$/,
            "$2 of agent $1",
        );
    } catch {
        return entry.target;
    }
}

function detailOf(entry: AuditEntry): string {
    if (entry.detail === null) return "";
    const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
    return Object.entries(entry.detail)
        .map(([name, value]) => `${name}: ${textOf(value)}`)
        .join(", ");
}

/** The log's name for an e-mail address or a key id; null: everyone. */
function actorOf(text: string): string | null {
    if (text === "") return null;
    if (text === "operator" || text.includes(":")) return text;
    return `${text.startsWith("key_") ? "key" : "person"}:${text}`;
}

/** Newest first; `slug` null: the platform's own. */
export function AuditLog({ slug }: { slug: string | null }) {
    const { query } = useRoute();
    const action = query.get("action") ?? "";
    const actor = query.get("actor") ?? "";
    const cursor = query.get("cursor");
    const get = `GET ${pathOf(slug)}` as Get;
    const log = useQuery(`${get} ${slug} ${action} ${actor} ${cursor}`, (signal) =>
        call(get, {
            path: { slug: slug ?? "" },
            query: { limit: PAGE, cursor, action: action || null, actor: actorOf(actor) },
            signal,
        }),
    );
    return (
        <ListCard
            title="Audit log"
            aside={<IntegrityCheck slug={slug} />}
            above={
                <div class="filters">
                    <SearchField
                        label="Action"
                        placeholder="Action, e.g. key.add"
                        value={action}
                        onChange={(to) => setQuery({ action: to, cursor: null }, { typed: true })}
                    />
                    <SearchField
                        label="Who"
                        placeholder="E-mail or key ID"
                        value={actor}
                        onChange={(to) => setQuery({ actor: to, cursor: null }, { typed: true })}
                    />
                </div>
            }
            loaded={log}
            skeleton={6}
            empty={<Empty title="No entries match" />}
            rows={log.data?.entries ?? []}
            keyOf={(entry) => entry.seq}
            columns={[
                { title: "When", class: "fit", cell: (entry) => <Time exact at={entry.at} /> },
                {
                    title: "Who",
                    class: "fit",
                    cell: ({ actor }) => <span title={actor}>{actorName(actor)}</span>,
                },
                { title: "Action", class: "fit", cell: (entry) => <code>{entry.action}</code> },
                {
                    title: "Target",
                    class: "grow",
                    cell: (entry) => (
                        <>
                            <bdi>{targetOf(entry)}</bdi>{" "}
                            <span class="muted" dir="auto">
                                {detailOf(entry)}
                            </span>
                        </>
                    ),
                },
                { title: "From", class: "fit wide muted", cell: (entry) => entry.origin },
            ]}
        >
            <Pager next={log.data?.next} />
        </ListCard>
    );
}
