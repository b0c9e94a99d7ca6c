// The audit log: who changed what, when and from where; and whether it is as it was written.

import type { AuditEntry } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { type Answer, call } from "../../lib/api";
import { actorOf, count, who } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { setQuery, usePlace } from "../../lib/route";
import { Card, Empty, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { Pager } from "../../ui/pager";
import { SearchField } from "../../ui/search_field";
import { Chip } from "../../ui/chip";

const OF_TENANT = "/api/v1/tenants/{slug}/audit";
const OF_PLATFORM = "/api/v1/platform/audit";
const PAGE = 50;

type Get = `GET ${typeof OF_TENANT}`;
type VerifyGet = `GET ${typeof OF_TENANT}/verify`;

const at = (slug: string | null) => (slug === null ? OF_PLATFORM : OF_TENANT);

function Verify({ slug }: { slug: string | null }) {
    const [verdict, setVerdict] = useState<Answer<VerifyGet> | null>(null);
    const { busy, error, act } = useAct();
    const verify = () =>
        act(async () =>
            setVerdict(
                await call(`GET ${at(slug)}/verify` as VerifyGet, { path: { slug: slug ?? "" } }),
            ),
        );
    return (
        <>
            <span role="status">
                {error && error.message}
                {verdict?.ok && (
                    <Chip tone="good">{`${count(verdict.entries)} entries, as they were written`}</Chip>
                )}
                {verdict && !verdict.ok && (
                    <Chip tone="bad">{`Entry ${verdict.seq}: ${verdict.problem}`}</Chip>
                )}
            </span>
            <button type="button" disabled={busy} onClick={() => void verify()}>
                {busy ? "Verifying…" : "Verify"}
            </button>
        </>
    );
}

/** What was changed. Some entries name it by its path in the API. */
function targetOf(entry: AuditEntry): string {
    const found = /^\/api\/v1\/(?:tenants\/[^/]+|platform)\/(.+)$/.exec(entry.target);
    if (found === null) return entry.target;
    try {
        return decodeURIComponent(found[1] ?? "").replace(/^agents\/(.+)\/([\w-]+)$/, "$2 of agent $1");
    } catch {
        return entry.target;
    }
}

function detailOf(entry: AuditEntry): string {
    if (entry.detail === null) return "";
    return Object.entries(entry.detail)
        .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
        .join(", ");
}

function Row({ entry }: { entry: AuditEntry }) {
    return (
        <tr>
            <td class="fit">
                <Time at={entry.at} />
            </td>
            <td class="fit" title={entry.actor}>
                {who(entry.actor)}
            </td>
            <td class="fit">
                <code>{entry.action}</code>
            </td>
            <td class="grow">
                {targetOf(entry)} <span class="muted">{detailOf(entry)}</span>
            </td>
            <td class="fit wide muted">{entry.origin}</td>
        </tr>
    );
}

/** Newest first; `slug` null: the platform's own. */
export function AuditLog({ slug }: { slug: string | null }) {
    const { query } = usePlace();
    const action = query.get("action") ?? "";
    const actor = query.get("actor") ?? "";
    const cursor = query.get("cursor");
    const get = `GET ${at(slug)}` as Get;
    const { data, error, reload } = useQuery(
        `${get} ${slug} ${action} ${actor} ${cursor}`,
        (signal) =>
            call(get, {
                path: { slug: slug ?? "" },
                query: { limit: PAGE, cursor, action: action || null, actor: actorOf(actor) },
                signal,
            }),
    );
    return (
        <Card title="Audit log" aside={<Verify slug={slug} />}>
            <div class="filters">
                <SearchField
                    label="Action"
                    placeholder="Action, as key.add"
                    value={action}
                    onChange={(to) => setQuery({ action: to, cursor: null })}
                />
                <SearchField
                    label="Who"
                    placeholder="E-mail or key id"
                    value={actor}
                    onChange={(to) => setQuery({ actor: to, cursor: null })}
                />
            </div>
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={6} />}
            {data && data.entries.length === 0 && <Empty title="No entry fits" />}
            {data && data.entries.length > 0 && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>When</th>
                            <th>Who</th>
                            <th>Did</th>
                            <th>To what</th>
                            <th class="wide">From</th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.entries.map((entry) => (
                            <Row key={entry.seq} entry={entry} />
                        ))}
                    </tbody>
                </table>
            )}
            <Pager next={data?.next} />
        </Card>
    );
}
