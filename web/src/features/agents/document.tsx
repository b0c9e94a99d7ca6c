// An agent's document: edited, with its history, what changed, and a way back.

import type { Document as Doc, DocumentVersion } from "api";
import { useEffect, useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { ApiError, call } from "../../lib/api";
import { draftOf, keepDraft } from "./drafts";
import { bytes, who } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { setQuery, usePlace } from "../../lib/route";
import { Card, ErrorNote, Skeleton, Time } from "../../ui/basics";
import { ConfirmButton } from "../../ui/dialog";
import { AreaField, ChoiceField, Form } from "../../ui/forms";

const DOCUMENT = "GET /api/v1/tenants/{slug}/agents/{agent_name}/document";
const VERSIONS = "GET /api/v1/tenants/{slug}/agents/{agent_name}/document/versions";
const DIFF = "GET /api/v1/tenants/{slug}/agents/{agent_name}/document/diff";
const RESTORE =
    "POST /api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}/restore";

const PAGE = 50;

type Format = Doc["format"];

const FORMATS: { value: Format; label: string }[] = [
    { value: "markdown", label: "Markdown" },
    { value: "text", label: "Text" },
    { value: "yaml", label: "YAML" },
    { value: "json", label: "JSON" },
];

interface Props {
    slug: string;
    agent_name: string;
    may: boolean;
}

interface EditorProps extends Props {
    was: Doc | null;
    onSaved: () => void;
}

function Editor({ slug, agent_name, may, was, onSaved }: EditorProps) {
    const name = `${slug} ${agent_name}`;
    const draft = draftOf(name);
    const [text, setText] = useState(draft?.text ?? was?.document ?? "");
    const [format, setFormat] = useState((draft?.format as Format) ?? was?.format ?? "markdown");
    const [base, setBase] = useState(draft?.base ?? was?.version ?? 0);
    const act = useAct();
    const changed = text !== (was?.document ?? "") || (was !== null && format !== was.format);
    useEffect(() => keepDraft(name, changed && may ? { text, format, base } : null));
    const save = async () => {
        await call("PUT /api/v1/tenants/{slug}/agents/{agent_name}/document", {
            path: { slug, agent_name },
            body: { document: text, format, base_version: base || null },
        });
        keepDraft(name, null);
        onSaved();
    };
    const discard = () => {
        setText(was?.document ?? "");
        setFormat(was?.format ?? "markdown");
        setBase(was?.version ?? 0);
    };
    if (!may) return <pre class="document">{text || "There is no document yet."}</pre>;
    return (
        <Form
            act={act}
            submit="Save"
            disabled={!changed}
            onSubmit={save}
            more={
                changed && (
                    <>
                        <button type="button" onClick={discard}>
                            Discard
                        </button>
                        <span class="muted">
                            Not saved yet
                            {base > 0 && was !== null && base !== was.version
                                ? `; begun from version ${base}`
                                : ""}
                        </span>
                    </>
                )
            }
        >
            <ChoiceField
                label="Format"
                choices={FORMATS}
                value={format}
                onInput={(to) => setFormat(to as Format)}
            />
            <AreaField
                label="Document"
                hint="Agents get it as it is; vault:NAME stays as it is, too."
                rows={18}
                value={text}
                onInput={setText}
            />
        </Form>
    );
}

/** Lines of the unified form; the two names at its beginning say nothing here. */
export function Diff({ text }: { text: string }) {
    const rows = text
        .split("\n")
        .filter((line, i) => !(i < 2 && /^(---|\+\+\+) /.test(line)))
        .filter((line, i, all) => line !== "" || i < all.length - 1);
    const kind = (line: string) =>
        line.startsWith("@@")
            ? "place"
            : line.startsWith("+")
              ? "added"
              : line.startsWith("-")
                ? "removed"
                : "";
    if (rows.length === 0) return <p class="muted">Nothing differs.</p>;
    return (
        <div class="diff" role="region" aria-label="What changed" tabIndex={0}>
            {rows.map((line, i) => (
                <div key={i} class={kind(line)}>
                    {line}
                </div>
            ))}
        </div>
    );
}

function Change(props: { slug: string; agent_name: string; from: number; to: number }) {
    const { slug, agent_name, from, to } = props;
    const { data, error } = useQuery(`${DIFF} ${slug} ${agent_name} ${from} ${to}`, (signal) =>
        call(DIFF, { path: { slug, agent_name }, query: { from, to }, signal }),
    );
    if (error) return <ErrorNote error={error} />;
    return data ? <Diff text={data.diff} /> : <Skeleton rows={3} />;
}

interface VersionProps extends Props {
    of: DocumentVersion;
    newest: number;
    shown: boolean;
    onShow: () => void;
    onRestored: () => void;
}

function Version({ slug, agent_name, may, of, newest, shown, onShow, onRestored }: VersionProps) {
    const restore = async () => {
        await call(RESTORE, { path: { slug, agent_name, version: of.version } });
        onRestored();
    };
    return (
        <tr>
            <td class="fit">
                <b>{of.version}</b>
                {of.version === newest && <small class="muted"> current</small>}
            </td>
            <td class="grow">{who(of.author)}</td>
            <td class="fit number" data-label="size">
                {bytes(of.bytes)}
            </td>
            <td class="fit">
                <Time at={of.updated_at} />
            </td>
            <td class="fit number">
                <span class="row-buttons">
                    {of.version > 1 && (
                        <button
                            type="button"
                            aria-expanded={shown}
                            aria-label={`${shown ? "Hide" : "Changes"} of version ${of.version}`}
                            onClick={onShow}
                        >
                            {shown ? "Hide" : "Changes"}
                        </button>
                    )}
                    {may && of.version !== newest && (
                        <ConfirmButton
                            plain
                            label="Restore"
                            name={`Restore version ${of.version}`}
                            title={`Restore version ${of.version}?`}
                            text="Its text becomes a new version; nothing is lost."
                            verb="Restore"
                            onConfirm={restore}
                        />
                    )}
                </span>
            </td>
        </tr>
    );
}

function History(props: Props & { newest: number; onRestored: () => void }) {
    const { slug, agent_name, newest, onRestored } = props;
    const { query } = usePlace();
    const shown = Number(query.get("changes")) || null;
    const before = Number(query.get("before")) || null;
    const { data, error, reload } = useQuery(
        `${VERSIONS} ${slug} ${agent_name} ${before}`,
        (signal) =>
            call(VERSIONS, { path: { slug, agent_name }, query: { limit: PAGE, before }, signal }),
    );
    const oldest = data?.versions.at(-1)?.version ?? 1;
    if (error?.status === 404) return null;
    return (
        <Card title="History">
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>Version</th>
                            <th>By</th>
                            <th class="number">Size</th>
                            <th>When</th>
                            <th>
                                <span class="visually-hidden">Actions</span>
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {data.versions.map((one) => (
                            <Version
                                key={one.version}
                                {...props}
                                of={one}
                                shown={shown === one.version}
                                onShow={() =>
                                    setQuery({
                                        changes: shown === one.version ? null : one.version,
                                    })
                                }
                                onRestored={() => {
                                    reload();
                                    onRestored();
                                }}
                            />
                        ))}
                    </tbody>
                </table>
            )}
            <div class="pager">
                {before !== null && (
                    <button type="button" onClick={() => setQuery({ before: null })}>
                        Newest
                    </button>
                )}
                {oldest > 1 && (
                    <button type="button" onClick={() => setQuery({ before: oldest })}>
                        Older
                    </button>
                )}
            </div>
            {shown !== null && shown > 1 && shown <= newest && (
                <div class="after">
                    <h3>
                        Version {shown - 1} to {shown}
                    </h3>
                    <Change slug={slug} agent_name={agent_name} from={shown - 1} to={shown} />
                </div>
            )}
        </Card>
    );
}

export function Document(props: Props) {
    const { slug, agent_name } = props;
    const { data, error, reload } = useQuery<Doc | null>(
        `${DOCUMENT} ${slug} ${agent_name}`,
        async (signal) => {
            try {
                return await call(DOCUMENT, { path: { slug, agent_name }, signal });
            } catch (problem) {
                if (problem instanceof ApiError && problem.status === 404) return null;
                throw problem;
            }
        },
    );
    const version = data?.version ?? 0;
    return (
        <>
            <Card
                title="Document"
                aside={
                    data && (
                        <span>
                            Version {data.version} by {who(data.author)},{" "}
                            <Time at={data.updated_at} />
                        </span>
                    )
                }
            >
                {error && <ErrorNote error={error} retry={reload} />}
                {data === undefined && !error && <Skeleton rows={8} />}
                {data !== undefined && (
                    <Editor key={version} {...props} was={data} onSaved={reload} />
                )}
            </Card>
            <History
                key={`history ${version}`}
                {...props}
                newest={version}
                onRestored={reload}
            />
        </>
    );
}
