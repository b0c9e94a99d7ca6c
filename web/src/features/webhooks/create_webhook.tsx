// The dialog that creates a webhook.

import type { Webhook } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { Check, ChoiceField, Dialog, Form, TextField } from "../../ui";

type Format = Webhook["format"];
type Types = Webhook["types"];

const FORMATS: { value: Format; label: string }[] = [
    { value: "standard", label: "Standard Webhooks: signed JSON" },
    { value: "slack", label: "Slack-compatible (Slack, Mattermost …)" },
    { value: "teams", label: "Microsoft Teams" },
    { value: "discord", label: "Discord" },
    { value: "pagerduty", label: "PagerDuty" },
    { value: "alertmanager", label: "Alertmanager" },
    { value: "email", label: "E-mail" },
];

const TYPES: Types = [
    "agent.silent",
    "agent.recovered",
    "run.failed",
    "run.stuck",
    "run.recovered",
    "agent.failing",
    "agent.healthy",
    "failure_rate.exceeded",
    "failure_rate.recovered",
    "duration.exceeded",
    "duration.recovered",
    "kpi.crossed",
    "kpi.recovered",
    "budget.exceeded",
    "budget.recovered",
    "budget.forecast",
    "budget.on_track",
];

function TypesField({ value, onChange }: { value: Types; onChange: (to: Types) => void }) {
    return (
        <fieldset class="checks">
            <legend>Event types (leave empty for all but agent.failing and agent.healthy)</legend>
            {TYPES.map((type) => (
                <Check
                    key={type}
                    label={type}
                    value={value.includes(type)}
                    onChange={(on) =>
                        onChange(on ? [...value, type] : value.filter((one) => one !== type))
                    }
                />
            ))}
            {value.includes("run.failed") && (
                <p class="hint">Needs the alert rule “Failed runs”, which is off at first.</p>
            )}
        </fieldset>
    );
}

/** How the target of a format is asked for, and the URL that it becomes. */
const TARGETS: Partial<Record<Format, { label: string; hint: string; before: string }>> = {
    email: { label: "E-mail address", hint: "on-call@acme.example", before: "mailto:" },
    pagerduty: { label: "URL", hint: "https://…/v2/enqueue?routing_key=…", before: "" },
    alertmanager: { label: "URL", hint: "https://…/api/v2/alerts", before: "" },
};
const ANY_TARGET = { label: "URL", hint: "https://…", before: "" };

interface Props {
    slug: string;
    onClose: () => void;
    onCreated: (webhook: Webhook) => void;
}

export function CreateWebhook({ slug, onClose, onCreated }: Props) {
    const [url, setUrl] = useState("");
    const [label, setLabel] = useState("");
    const [format, setFormat] = useState<Format>("standard");
    const [types, setTypes] = useState<Types>([]);
    const action = useAction();
    const target = TARGETS[format] ?? ANY_TARGET;
    const create = async () => {
        const body = { url: target.before + url, format, label, types };
        onCreated(await call("POST /api/v1/tenants/{slug}/webhooks", { path: { slug }, body }));
    };
    return (
        <Dialog title="New webhook" onClose={onClose} wide>
            <Form action={action} submit="Create webhook" onSubmit={create} onCancel={onClose}>
                <ChoiceField
                    label="Format"
                    choices={FORMATS}
                    value={format}
                    onInput={(to) => setFormat(to as Format)}
                />
                <TextField
                    label={target.label}
                    name="url"
                    placeholder={target.hint}
                    kind={format === "email" ? "email" : "text"}
                    required
                    focus
                    value={url}
                    onInput={setUrl}
                />
                <TextField label="Label" name="label" value={label} onInput={setLabel} />
                <TypesField value={types} onChange={setTypes} />
            </Form>
        </Dialog>
    );
}
