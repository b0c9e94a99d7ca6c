// An agent's document: the editor, and below it the history.

import type { Document as Doc } from "api";
import { useEffect, useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { ApiError, call, fieldError } from "../../lib/api";
import { actorName } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { AreaField, Card, ChoiceField, Form, LoadState, Time } from "../../ui";
import { DocumentHistory } from "./document_history";
import { draftOf, keepDraft } from "./drafts";

const DOCUMENT = "GET /api/v1/tenants/{slug}/agents/{agent_name}/document";

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
    canEdit: boolean;
}

/** Checked here, because otherwise only the agents would fail, long after it was saved. */
function checkJson(text: string) {
    try {
        JSON.parse(text);
    } catch (problem) {
        throw fieldError("document", `This is not valid JSON: ${(problem as Error).message}`);
    }
}

interface EditorProps extends Props {
    saved: Doc | null; // null: no document yet
    onSaved: () => void;
}

function Editor({ slug, agent_name, canEdit, saved, onSaved }: EditorProps) {
    const name = `${slug} ${agent_name}`;
    const draft = draftOf(name);
    const [text, setText] = useState(draft?.text ?? saved?.document ?? "");
    const [format, setFormat] = useState((draft?.format as Format) ?? saved?.format ?? "markdown");
    const [base, setBase] = useState(draft?.base ?? saved?.version ?? 0);
    const action = useAction();
    const changed = text !== (saved?.document ?? "") || (saved !== null && format !== saved.format);
    useEffect(() => keepDraft(name, changed && canEdit ? { text, format, base } : null));
    const save = async () => {
        if (format === "json") checkJson(text);
        await call("PUT /api/v1/tenants/{slug}/agents/{agent_name}/document", {
            path: { slug, agent_name },
            body: { document: text, format, base_version: base || null },
        });
        keepDraft(name, null);
        onSaved();
    };
    const discard = () => {
        setText(saved?.document ?? "");
        setFormat(saved?.format ?? "markdown");
        setBase(saved?.version ?? 0);
    };
    if (!canEdit) return <pre class="document" dir="auto">{text || "No document yet."}</pre>;
    return (
        <Form
            action={action}
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
                            {base > 0 && saved !== null && base !== saved.version
                                ? `; based on version ${base}`
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
                name="document"
                hint="Delivered to the agent unchanged; vault:NAME is not replaced here."
                rows={18}
                value={text}
                onInput={setText}
            />
        </Form>
    );
}

export function Document(props: Props) {
    const { slug, agent_name } = props;
    const document = useQuery<Doc | null>(`${DOCUMENT} ${slug} ${agent_name}`, async (signal) => {
        try {
            return await call(DOCUMENT, { path: { slug, agent_name }, signal });
        } catch (problem) {
            if (problem instanceof ApiError && problem.status === 404) return null;
            throw problem;
        }
    });
    const { data, reload } = document;
    const version = data?.version ?? 0;
    return (
        <>
            <Card
                title="Document"
                aside={
                    data && (
                        <span>
                            Version {data.version} by {actorName(data.author)},{" "}
                            <Time at={data.updated_at} />
                        </span>
                    )
                }
            >
                <LoadState of={document} rows={8} />
                {data !== undefined && (
                    <Editor key={version} {...props} saved={data} onSaved={reload} />
                )}
            </Card>
            <DocumentHistory
                key={`history ${version}`}
                {...props}
                newest={version}
                onRestored={reload}
            />
        </>
    );
}
