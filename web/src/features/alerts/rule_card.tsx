// A card with rules of one kind, to add, change, pause and remove.

import type { ComponentChildren } from "preact";

import { useAction } from "../../lib/action";
import { Card, Chip, ConfirmButton, ErrorNote, Icon } from "../../ui";

export interface RuleText {
    name: string;
    text: ComponentChildren;
    paused: boolean;
}

interface Props {
    title: string;
    add: string; // label of the button
    none: string;
    rules: RuleText[];
    canEdit: boolean;
    onOpen: (index: number | null) => void; // null: a new one
    onPause: (index: number, to: boolean) => Promise<unknown>;
    onRemove: (index: number) => Promise<unknown>;
}

function Buttons({ rule, index, onOpen, onPause, onRemove }: Props & { rule: RuleText; index: number }) {
    const { busy, error, perform } = useAction();
    const { name, paused } = rule;
    return (
        <span class="row-buttons">
            {error && <ErrorNote error={error} />}
            <button
                type="button"
                disabled={busy}
                aria-label={`${paused ? "Resume" : "Pause"} ${name}`}
                onClick={() => void perform(() => onPause(index, !paused))}
            >
                {paused ? "Resume" : "Pause"}
            </button>
            <button type="button" aria-label={`Change ${name}`} onClick={() => onOpen(index)}>
                Change
            </button>
            <ConfirmButton
                label="Remove"
                name={`Remove ${name}`}
                title={`Remove the rule for ${name}?`}
                text="Its open alert is closed, and it raises no alerts from now on."
                verb="Remove"
                onConfirm={() => onRemove(index)}
            />
        </span>
    );
}

export function RuleCard(props: Props) {
    const { title, add, none, rules, canEdit, onOpen } = props;
    return (
        <Card
            title={title}
            aside={
                canEdit && (
                    <button type="button" onClick={() => onOpen(null)}>
                        <Icon name="plus" /> {add}
                    </button>
                )
            }
        >
            {rules.length === 0 && <p class="muted">{none}</p>}
            <ul class="rules">
                {rules.map((rule, i) => (
                    <li key={i}>
                        <span>
                            <b dir="auto">{rule.name}</b> {rule.text}{" "}
                            {rule.paused && <Chip tone="quiet">Paused</Chip>}
                        </span>
                        {canEdit && <Buttons {...props} rule={rule} index={i} />}
                    </li>
                ))}
            </ul>
        </Card>
    );
}
