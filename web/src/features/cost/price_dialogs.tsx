// Dialogs of a platform admin: to set a price, and to import a price file.

import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { ApiError, call } from "../../lib/api";
import { count } from "../../lib/format";
import { Check, ChoiceField, Dialog, Field, Form, TextField } from "../../ui";

type FileFormat = "muster" | "litellm";

const FILE_FORMATS = [
    { value: "muster", label: "muster" },
    { value: "litellm", label: "LiteLLM" },
];

interface Props {
    onClose: () => void;
    onDone: () => void;
}

/** `of`: the model that it is for, if that is known. */
export function SetPrice({ of = "", onClose, onDone }: Props & { of?: string }) {
    const [model, setModel] = useState(of);
    const [provider, setProvider] = useState("");
    const [input, setInput] = useState("");
    const [output, setOutput] = useState("");
    const [cached, setCached] = useState("");
    const [written, setWritten] = useState("");
    const [includes, setIncludes] = useState(false);
    const [from, setFrom] = useState("");
    const action = useAction();
    const save = async () => {
        await call("POST /api/v1/platform/prices", {
            body: {
                model,
                provider,
                input,
                output,
                cache_read: cached || null,
                cache_write: written || null,
                input_includes_cache: includes,
                valid_from: from === "" ? null : new Date(from).toISOString(),
            },
        });
        onDone();
    };
    return (
        <Dialog title="Set a price" onClose={onClose} wide>
            <Form action={action} submit="Save" onSubmit={save} onCancel={onClose}>
                <p class="hint">US dollars per million tokens.</p>
                <div class="pair">
                    <TextField
                        label="Model"
                        name="model"
                        required
                        focus={of === ""}
                        value={model}
                        onInput={setModel}
                    />
                    <TextField label="Provider" name="provider" value={provider} onInput={setProvider} />
                    <TextField
                        label="Input"
                        name="input"
                        required
                        focus={of !== ""}
                        value={input}
                        onInput={setInput}
                    />
                    <TextField label="Output" name="output" required value={output} onInput={setOutput} />
                    <TextField
                        label="Cache reads"
                        name="cache_read"
                        hint="Leave empty to use the input price."
                        value={cached}
                        onInput={setCached}
                    />
                    <TextField
                        label="Cache writes"
                        name="cache_write"
                        hint="Leave empty to use the input price."
                        value={written}
                        onInput={setWritten}
                    />
                    <TextField
                        label="Valid from"
                        name="valid_from"
                        kind="datetime"
                        hint="Leave empty for always."
                        value={from}
                        onInput={setFrom}
                    />
                </div>
                <Check
                    label="Reported input tokens include cached tokens"
                    value={includes}
                    onChange={setIncludes}
                />
            </Form>
        </Dialog>
    );
}

export function ImportPrices({ onClose, onDone }: Props) {
    const [format, setFormat] = useState<FileFormat>("muster");
    const [file, setFile] = useState<File | null>(null);
    const [result, setResult] = useState("");
    const action = useAction();
    const send = async () => {
        if (file === null) return;
        let prices: unknown;
        try {
            prices = JSON.parse(await file.text());
        } catch {
            throw new ApiError(0, `${file.name} is not JSON`);
        }
        const done = await call("POST /api/v1/platform/prices/import", {
            body: { format, prices },
        });
        setResult(
            `${count(done.added)} added, ${count(done.updated)} updated, ` +
                `${count(done.unchanged)} unchanged, ${count(done.skipped)} skipped`,
        );
        onDone();
    };
    return (
        <Dialog title="Import prices" onClose={onClose}>
            <Form action={action} submit="Import" disabled={file === null} onSubmit={send}>
                <p class="hint">Imports the whole file, or nothing if it has an error.</p>
                <ChoiceField
                    label="File format"
                    choices={FILE_FORMATS}
                    value={format}
                    onInput={(to) => setFormat(to as FileFormat)}
                />
                <Field label="File" name="file">
                    {(at) => (
                        <input
                            {...at}
                            type="file"
                            accept=".json,application/json"
                            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
                        />
                    )}
                </Field>
                <p role="status">{result}</p>
            </Form>
        </Dialog>
    );
}
