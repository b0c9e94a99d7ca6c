// The versions of an agent's document: what changed in each, and a way to restore one.

import type { DocumentVersion } from "api";

import { call } from "../../lib/api";
import { actorName, bytes } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { setQuery, useRoute } from "../../lib/route";
import { ConfirmButton, ErrorNote, ListCard, Skeleton, Steps, Time } from "../../ui";

const VERSIONS = "GET /api/v1/tenants/{slug}/agents/{agent_name}/document/versions";
const DIFF = "GET /api/v1/tenants/{slug}/agents/{agent_name}/document/diff";
const RESTORE =
    "POST /api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}/restore";

const PAGE = 50;

const LINE_CLASSES: Record<string, string> = { "@": "hunk", "+": "added", "-": "removed" };

/** The lines of a unified diff, without the two file names at its start. */
function DiffLines({ text }: { text: string }) {
    const lines = text
        .split("\n")
        .filter((line, i) => !(i < 2 && /^(---|\+\+\+) /.test(line)))
        .filter((line, i, all) => line !== "" || i < all.length - 1);
    if (lines.length === 0) return <p class="muted">No differences.</p>;
    return (
        <div class="diff" role="region" aria-label="Changes" tabIndex={0}>
            {lines.map((line, i) => (
                <div
                    key={i}
                    class={LINE_CLASSES[line.startsWith("@@") ? "@" : (line[0] ?? "")]}
                    dir="auto"
                >
                    {line}
                </div>
            ))}
        </div>
    );
}

interface AgentRef {
    slug: string;
    agent_name: string;
}

function Diff({ slug, agent_name, from, to }: AgentRef & { from: number; to: number }) {
    const { data, error } = useQuery(`${DIFF} ${slug} ${agent_name} ${from} ${to}`, (signal) =>
        call(DIFF, { path: { slug, agent_name }, query: { from, to }, signal }),
    );
    if (error) return <ErrorNote error={error} />;
    return data ? <DiffLines text={data.diff} /> : <Skeleton rows={3} />;
}

interface ButtonsProps extends AgentRef {
    version: number;
    canRestore: boolean;
    shown: boolean; // its changes
    onRestored: () => void;
}

function Buttons({ slug, agent_name, version, canRestore, shown, onRestored }: ButtonsProps) {
    const restore = async () => {
        await call(RESTORE, { path: { slug, agent_name, version } });
        onRestored();
    };
    return (
        <>
            {version > 1 && (
                <button
                    type="button"
                    aria-expanded={shown}
                    aria-label={`${shown ? "Hide changes" : "Changes"} of version ${version}`}
                    onClick={() => setQuery({ changes: shown ? null : version })}
                >
                    {shown ? "Hide" : "Changes"}
                </button>
            )}
            {canRestore && (
                <ConfirmButton
                    plain
                    label="Restore"
                    name={`Restore version ${version}`}
                    title={`Restore version ${version}?`}
                    text="Its text becomes a new version; nothing is lost."
                    verb="Restore"
                    onConfirm={restore}
                />
            )}
        </>
    );
}

function VersionNumber({ version, newest }: { version: number; newest: number }) {
    return (
        <>
            <b>{version}</b>
            {version === newest && <small class="muted"> current</small>}
        </>
    );
}

interface Props extends AgentRef {
    canEdit: boolean;
    newest: number;
    onRestored: () => void;
}

export function DocumentHistory({ slug, agent_name, canEdit, newest, onRestored }: Props) {
    const { query } = useRoute();
    const shown = Number(query.get("changes")) || null;
    const before = Number(query.get("before")) || null;
    const history = useQuery(`${VERSIONS} ${slug} ${agent_name} ${before}`, (signal) =>
        call(VERSIONS, { path: { slug, agent_name }, query: { limit: PAGE, before }, signal }),
    );
    const versions: DocumentVersion[] = history.data?.versions ?? [];
    const oldest = versions.at(-1)?.version ?? 1;
    if (history.error?.status === 404) return null;
    return (
        <ListCard
            title="History"
            loaded={history}
            rows={versions}
            keyOf={({ version }) => version}
            columns={[
                {
                    title: "Version",
                    class: "fit",
                    cell: ({ version }) => <VersionNumber version={version} newest={newest} />,
                },
                { title: "By", class: "grow", cell: ({ author }) => actorName(author) },
                {
                    title: "Size",
                    class: "fit number",
                    label: "size",
                    cell: (version) => bytes(version.bytes),
                },
                {
                    title: "Saved",
                    class: "fit",
                    cell: ({ updated_at }) => <Time at={updated_at} />,
                },
            ]}
            buttons={({ version }) => (
                <Buttons
                    slug={slug}
                    agent_name={agent_name}
                    version={version}
                    canRestore={canEdit && version !== newest}
                    shown={shown === version}
                    onRestored={() => {
                        history.reload();
                        onRestored();
                    }}
                />
            )}
        >
            <Steps
                back={
                    before === null
                        ? null
                        : { label: "Newest", go: () => setQuery({ before: null }) }
                }
                on={
                    oldest > 1
                        ? { label: "Older", go: () => setQuery({ before: oldest }) }
                        : null
                }
            />
            {shown !== null && shown > 1 && shown <= newest && (
                <div class="after">
                    <h3>
                        Version {shown - 1} to {shown}
                    </h3>
                    <Diff slug={slug} agent_name={agent_name} from={shown - 1} to={shown} />
                </div>
            )}
        </ListCard>
    );
}
