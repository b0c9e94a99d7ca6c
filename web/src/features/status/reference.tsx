// /docs: every operation of the API, to read and to try with a key.

import { useEffect, useState } from "preact/hooks";

import {
    entriesOf,
    type Entry,
    matches,
    membersOf,
    type OpenApi,
    replyOf,
} from "./document";
import { SchemaTable } from "./schema_table";
import { TryIt } from "./try_it";

const idIn = (hash: string): string => hash.replace(/^#/, "");

/** The operation that the address names, such as #list_runs. */
function useChosen(): string {
    const [chosen, setChosen] = useState(idIn(location.hash));
    useEffect(() => {
        const onChange = () => setChosen(idIn(location.hash));
        addEventListener("hashchange", onChange);
        return () => removeEventListener("hashchange", onChange);
    }, []);
    return chosen;
}

function useDocument(): { api: OpenApi | null; problem: string } {
    const [api, setApi] = useState<OpenApi | null>(null);
    const [problem, setProblem] = useState("");
    useEffect(() => {
        const load = async () => {
            const reply = await fetch("/openapi.json", { credentials: "omit" });
            if (!reply.ok) throw new Error(`The service answered ${reply.status}`);
            setApi((await reply.json()) as OpenApi);
        };
        load().catch((error: unknown) => setProblem(String(error)));
    }, []);
    return { api, problem };
}

function Index({ api, entries, chosen }: { api: OpenApi; entries: Entry[]; chosen: string }) {
    return (
        <>
            {api.tags.map(({ name, description }) => {
                const own = entries.filter((one) => one.operation.tags.includes(name));
                if (own.length === 0) return null;
                return (
                    <section key={name}>
                        <h2 title={description}>{name}</h2>
                        {own.map(({ method, operation }) => (
                            <a
                                key={operation.operationId}
                                href={`#${operation.operationId}`}
                                aria-current={operation.operationId === chosen ? "page" : undefined}
                            >
                                <span class={`method ${method.toLowerCase()}`}>{method}</span>
                                {operation.summary}
                            </a>
                        ))}
                    </section>
                );
            })}
            {entries.length === 0 && <p class="hint">No operation has these words.</p>}
        </>
    );
}

function Replies({ api, entry }: { api: OpenApi; entry: Entry }) {
    return (
        <>
            {Object.entries(entry.operation.responses).map(([status, reply]) => {
                const { description, content } = replyOf(api, reply);
                const [media, first] = Object.entries(content ?? {})[0] ?? ["", null];
                const members = first && membersOf(api, first.schema);
                return (
                    <details key={status} open={status.startsWith("2")}>
                        <summary>
                            <strong>{status}</strong> {description}{" "}
                            <span class="hint">{media}</span>
                        </summary>
                        {members && <SchemaTable api={api} schema={members} />}
                        {first && (
                            <pre class="example">
                                {typeof first.example === "string"
                                    ? first.example
                                    : JSON.stringify(first.example, null, 2)}
                            </pre>
                        )}
                    </details>
                );
            })}
        </>
    );
}

function OperationOf({ api, entry, secret }: { api: OpenApi; entry: Entry; secret: string }) {
    const body = entry.operation.requestBody?.content["application/json"]?.schema;
    const members = body && membersOf(api, body);
    return (
        <article>
            <h1>{entry.operation.summary}</h1>
            <p class="address">
                <span class={`method ${entry.method.toLowerCase()}`}>{entry.method}</span>
                <code>{entry.path}</code>
            </p>
            <p>{entry.operation.description.replaceAll("`", "")}</p>
            <h2>Try it</h2>
            <TryIt entry={entry} secret={secret} />
            {members && (
                <>
                    <h2>Body</h2>
                    <SchemaTable api={api} schema={members} />
                </>
            )}
            <h2>Answers</h2>
            <Replies api={api} entry={entry} />
        </article>
    );
}

function Start({ api, operations }: { api: OpenApi; operations: number }) {
    return (
        <article>
            <h1>The API</h1>
            <p>{api.info.description.replaceAll("`", "")}</p>
            <p>
                {operations} operations, version {api.info.version}. Choose one to read about it and
                to try it. For programs: <a href="/openapi.json">openapi.json</a>. The portal is{" "}
                <a href="/">here</a>.
            </p>
        </article>
    );
}

export function Reference() {
    const { api, problem } = useDocument();
    const chosen = useChosen();
    const [text, setText] = useState("");
    const [secret, setSecret] = useState(""); // in memory only: gone with the page
    if (problem !== "")
        return (
            <p class="note bad" role="alert">
                {problem}
            </p>
        );
    if (api === null) return null;
    const entries = entriesOf(api);
    const entry = entries.find((one) => one.operation.operationId === chosen);
    return (
        <div class="docs">
            <nav aria-label="Operations">
                <div class="field">
                    <label for="key">Key</label>
                    <input
                        id="key"
                        type="password"
                        autocomplete="off"
                        placeholder="mst_…"
                        value={secret}
                        onInput={(event) => setSecret(event.currentTarget.value.trim())}
                    />
                    <p class="hint">Kept in this page only, until it is closed.</p>
                </div>
                <div class="field">
                    <label for="find">Find</label>
                    <input
                        id="find"
                        type="search"
                        value={text}
                        onInput={(event) => setText(event.currentTarget.value)}
                    />
                </div>
                <Index
                    api={api}
                    entries={entries.filter((one) => matches(one, text))}
                    chosen={chosen}
                />
            </nav>
            <main>
                {entry ? (
                    <OperationOf key={chosen} api={api} entry={entry} secret={secret} />
                ) : (
                    <Start api={api} operations={entries.length} />
                )}
            </main>
        </div>
    );
}
