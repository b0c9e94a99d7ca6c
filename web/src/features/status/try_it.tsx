// A form for one operation: parameters, body, Send, and the answer.

import { useRef, useState } from "preact/hooks";

import { CopyButton } from "../../ui/copy";
import { boundsOf, type Entry, type Parameter, typeOf } from "./document";
import { asCommand, type Sent, sendRequest, type Values } from "./send";

function ParameterField(props: {
    of: Parameter;
    value: string;
    onChange: (value: string) => void;
}) {
    const { name, schema, required, description } = props.of;
    const id = `parameter-${name}`;
    const choices = (schema.anyOf?.find((one) => one.enum) ?? schema).enum;
    const bounds = boundsOf(schema);
    return (
        <div class="field">
            <label for={id}>
                <code>{name}</code> <span class="type">{typeOf(schema)}</span>
                {required && <span class="required">required</span>}
            </label>
            {choices ? (
                <select
                    id={id}
                    value={props.value}
                    onChange={(event) => props.onChange(event.currentTarget.value)}
                >
                    <option value="">(none)</option>
                    {choices.map((one) => (
                        <option key={one}>{one}</option>
                    ))}
                </select>
            ) : (
                <input
                    id={id}
                    value={props.value}
                    autocomplete="off"
                    spellcheck={false}
                    onInput={(event) => props.onChange(event.currentTarget.value)}
                />
            )}
            <p class="hint">
                {description} {bounds}
            </p>
        </div>
    );
}

function firstValues(parameters: Parameter[]): Values {
    const wanted = parameters.filter((one) => one.required && one.example !== undefined);
    return Object.fromEntries(wanted.map((one) => [one.name, String(one.example)]));
}

function pretty(sent: Sent): string {
    try {
        return JSON.stringify(JSON.parse(sent.text), null, 2);
    } catch {
        return sent.text; // lines, events, or not complete yet
    }
}

function AnswerOf({ sent }: { sent: Sent }) {
    const shown = new Set(["retry-after", "etag", "x-request-id", "content-type"]);
    return (
        <div class="answer" role="status">
            <p>
                <strong class={sent.status < 400 ? "good" : "bad"}>{sent.status}</strong> in{" "}
                {sent.ms} ms
                {sent.headers
                    .filter(([name]) => shown.has(name) || name.startsWith("ratelimit-"))
                    .map(([name, value]) => (
                        <code key={name} class="hint">
                            {name}: {value}
                        </code>
                    ))}
            </p>
            <pre>{pretty(sent)}</pre>
            {sent.cut && <p class="hint">The rest is not shown.</p>}
        </div>
    );
}

/** The key is read when it is sent: it is in no attribute and no address. */
export function TryIt({ entry, secret }: { entry: Entry; secret: string }) {
    const { operation } = entry;
    const parameters = operation.parameters ?? [];
    const example = operation.requestBody?.content["application/json"]?.example;
    const [values, setValues] = useState<Values>(() => firstValues(parameters));
    const [body, setBody] = useState(() => JSON.stringify(example ?? null, null, 2));
    const [sent, setSent] = useState<Sent | null>(null);
    const [problem, setProblem] = useState("");
    const running = useRef<AbortController | null>(null);
    const [busy, setBusy] = useState(false);
    const sentBody = example === undefined ? null : body;

    const send = async (event: Event) => {
        event.preventDefault();
        running.current?.abort();
        const controller = new AbortController();
        running.current = controller;
        setSent(null);
        setProblem("");
        setBusy(true);
        try {
            const given = { values, body: sentBody, key: secret, signal: controller.signal };
            await sendRequest(entry, given, setSent);
        } catch (error) {
            if (!controller.signal.aborted) setProblem(String(error));
        }
        if (running.current === controller) setBusy(false);
    };
    const curl = asCommand(entry, values, sentBody);
    return (
        <form class="try stack" onSubmit={send}>
            {parameters.map((one) => (
                <ParameterField
                    key={one.name}
                    of={one}
                    value={values[one.name] ?? ""}
                    onChange={(value) => setValues({ ...values, [one.name]: value })}
                />
            ))}
            {sentBody !== null && (
                <div class="field">
                    <label for="body">Body, JSON</label>
                    <textarea
                        id="body"
                        rows={Math.min(18, body.split("\n").length + 1)}
                        spellcheck={false}
                        value={body}
                        onInput={(event) => setBody(event.currentTarget.value)}
                    />
                </div>
            )}
            <div class="buttons">
                <button type="submit" class="primary">
                    Send
                </button>
                {busy && (
                    <button
                        type="button"
                        class="button"
                        onClick={() => {
                            running.current?.abort();
                            setBusy(false);
                        }}
                    >
                        Stop
                    </button>
                )}
            </div>
            {problem !== "" && (
                <p class="note bad" role="alert">
                    {problem}
                </p>
            )}
            {sent && <AnswerOf sent={sent} />}
            <div class="snippet" tabIndex={0} role="region" aria-label="The same with curl">
                <pre>{curl}</pre>
                <CopyButton text={curl} label="Copy the curl command" />
            </div>
        </form>
    );
}
