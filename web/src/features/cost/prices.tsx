// What a million tokens of each model cost; a platform admin may set, import and remove prices.

import type { Price } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { ApiError, call } from "../../lib/api";
import { count } from "../../lib/format";
import { useQuery } from "../../lib/query";
import { setQuery, usePlace } from "../../lib/route";
import { Card, Empty, ErrorNote, Field, Skeleton, Time } from "../../ui/basics";
import { ConfirmButton, Dialog } from "../../ui/dialog";
import { Check, ChoiceField, Form, TextField } from "../../ui/forms";
import { Icon } from "../../ui/icons";
import { SearchField } from "../../ui/search_field";

const OF_TENANT = "GET /api/v1/tenants/{slug}/prices";
const OF_PLATFORM = "GET /api/v1/platform/prices";

const SHOWN_FIRST = 200;

type Import = "muster" | "litellm";

const FORMS = [
    { value: "muster", label: "muster" },
    { value: "litellm", label: "LiteLLM" },
];

function SetPrice({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
    const [model, setModel] = useState("");
    const [provider, setProvider] = useState("");
    const [input, setInput] = useState("");
    const [output, setOutput] = useState("");
    const [cached, setCached] = useState("");
    const [written, setWritten] = useState("");
    const [includes, setIncludes] = useState(false);
    const [from, setFrom] = useState("");
    const act = useAct();
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
            <Form act={act} submit="Save" onSubmit={save} onCancel={onClose}>
                <p class="hint">US dollars for a million tokens.</p>
                <div class="pair">
                    <TextField label="Model" required first value={model} onInput={setModel} />
                    <TextField label="Provider" value={provider} onInput={setProvider} />
                    <TextField label="Input" required value={input} onInput={setInput} />
                    <TextField label="Output" required value={output} onInput={setOutput} />
                    <TextField
                        label="Read from the cache"
                        hint="Empty: as input."
                        value={cached}
                        onInput={setCached}
                    />
                    <TextField
                        label="Written to the cache"
                        hint="Empty: as input."
                        value={written}
                        onInput={setWritten}
                    />
                    <TextField
                        label="Valid from"
                        kind="datetime"
                        hint="Empty: since ever."
                        value={from}
                        onInput={setFrom}
                    />
                </div>
                <Check
                    label="Reported input tokens include those of the cache"
                    value={includes}
                    onChange={setIncludes}
                />
            </Form>
        </Dialog>
    );
}

function ImportPrices({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
    const [format, setFormat] = useState<Import>("muster");
    const [file, setFile] = useState<File | null>(null);
    const [told, setTold] = useState("");
    const act = useAct();
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
        setTold(
            `${count(done.added)} added, ${count(done.updated)} updated, ` +
                `${count(done.unchanged)} as before, ${count(done.skipped)} left out`,
        );
        onDone();
    };
    return (
        <Dialog title="Import prices" onClose={onClose}>
            <Form act={act} submit="Import" disabled={file === null} onSubmit={send}>
                <p class="hint">The whole file is taken over, or nothing of it.</p>
                <ChoiceField
                    label="Form of the file"
                    choices={FORMS}
                    value={format}
                    onInput={(to) => setFormat(to as Import)}
                />
                <Field label="File">
                    {(id) => (
                        <input
                            id={id}
                            type="file"
                            accept=".json,application/json"
                            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
                        />
                    )}
                </Field>
                <p role="status">{told}</p>
            </Form>
        </Dialog>
    );
}

function Row({ of, onRemoved }: { of: Price; onRemoved: (() => void) | null }) {
    return (
        <tr>
            <td class="grow">
                <b>{of.model}</b> <span class="muted">{of.provider}</span>
                {of.aliases.length > 0 && (
                    <small class="muted"> also {of.aliases.join(", ")}</small>
                )}
            </td>
            <td class="fit number" data-label="input">
                {of.input}
            </td>
            <td class="fit number" data-label="output">
                {of.output}
            </td>
            <td class="fit number" data-label="cache read">
                {of.cache_read ?? "–"}
            </td>
            <td class="fit number wide">{of.cache_write ?? "–"}</td>
            <td class="fit wide">
                <Time at={of.valid_from} fallback="since ever" />
            </td>
            {onRemoved && (
                <td class="fit number">
                    <span class="row-buttons">
                        <ConfirmButton
                            label="Remove"
                            name={`Remove the price of ${of.model}`}
                            title={`Remove the price of ${of.model}?`}
                            text="Costs are computed when they are read: past usage of the model changes too."
                            verb="Remove"
                            onConfirm={async () => {
                                await call("DELETE /api/v1/platform/prices/{price_id}", {
                                    path: { price_id: of.price_id },
                                });
                                onRemoved();
                            }}
                        />
                    </span>
                </td>
            )}
        </tr>
    );
}

/** `slug` null: for the platform, to be changed. */
export function Prices({ slug }: { slug: string | null }) {
    const words = usePlace().query.get("q") ?? "";
    const [open, setOpen] = useState<"set" | "import" | null>(null);
    const { data, error, reload } = useQuery(`prices ${slug}`, (signal) =>
        slug === null
            ? call(OF_PLATFORM, { signal })
            : call(OF_TENANT, { path: { slug }, signal }),
    );
    const wanted = words.toLowerCase();
    const shown = (data?.prices ?? []).filter((one) =>
        `${one.model} ${one.provider} ${one.aliases.join(" ")}`.toLowerCase().includes(wanted),
    );
    const [most, setMost] = useState(SHOWN_FIRST);
    const close = () => setOpen(null);
    return (
        <Card
            title="Prices"
            aside={
                slug === null ? (
                    <>
                        <button type="button" onClick={() => setOpen("import")}>
                            Import
                        </button>
                        <button type="button" class="primary" onClick={() => setOpen("set")}>
                            <Icon name="plus" /> Set a price
                        </button>
                    </>
                ) : (
                    "US dollars for a million tokens"
                )
            }
        >
            <div class="filters">
                <SearchField
                    label="Model"
                    placeholder="Model"
                    value={words}
                    onChange={(q) => setQuery({ q })}
                />
            </div>
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={4} />}
            {data && shown.length === 0 && (
                <Empty title={words === "" ? "No prices yet" : "No price fits"}>
                    <p>Usage of models without a price is counted, but costs nothing.</p>
                </Empty>
            )}
            {shown.length > 0 && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>Model</th>
                            <th class="number">Input</th>
                            <th class="number">Output</th>
                            <th class="number">Cache read</th>
                            <th class="number wide">Cache write</th>
                            <th class="wide">Valid from</th>
                            {slug === null && (
                                <th>
                                    <span class="visually-hidden">Actions</span>
                                </th>
                            )}
                        </tr>
                    </thead>
                    <tbody>
                        {shown.slice(0, most).map((one) => (
                            <Row
                                key={one.price_id}
                                of={one}
                                onRemoved={slug === null ? reload : null}
                            />
                        ))}
                    </tbody>
                </table>
            )}
            {shown.length > most && (
                <div class="pager">
                    <button type="button" onClick={() => setMost(most + 5 * SHOWN_FIRST)}>
                        Show more of {count(shown.length - most)}
                    </button>
                </div>
            )}
            {open === "set" && (
                <SetPrice
                    onClose={close}
                    onDone={() => {
                        close();
                        reload();
                    }}
                />
            )}
            {open === "import" && <ImportPrices onClose={close} onDone={reload} />}
        </Card>
    );
}
