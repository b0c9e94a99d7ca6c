// The period of a page, kept in its address: a choice, a custom range, or the previous period.

import { useState } from "preact/hooks";

import { useAction } from "../lib/action";
import { fieldError } from "../lib/api";
import type { Choice } from "../lib/choices";
import { ALL_TIME, boundsOf, customInWords, isCustom, rangeBefore, rangeBetween } from "../lib/ranges";
import { setQuery } from "../lib/route";
import { useStore } from "../lib/store";
import { zone, type Zone, zoneName } from "../lib/zone";
import { Select } from "./choices";
import { Form, TextField } from "./forms";
import { Menu } from "./menu";

const MINUTE_MS = 60_000;

/** As a field for a date and time has it, in the zone that the person chose. */
function toField(at: number, of: Zone): string {
    const offset = of === "utc" ? 0 : new Date(at).getTimezoneOffset() * MINUTE_MS;
    return new Date(at - offset).toISOString().slice(0, 16);
}

const fromField = (text: string, of: Zone) => Date.parse(of === "utc" ? `${text}Z` : text);

interface Props {
    choices: readonly Choice[];
    value: string;
    label?: string;
    name?: string; // of the value in the address
}

interface CustomProps {
    value: string;
    onApply: (range: string) => void;
}

function CustomRange({ value, onApply }: CustomProps) {
    const of = useStore(zone);
    const [bounds] = useState(() => boundsOf(value, Date.now()));
    const [from, setFrom] = useState(() => toField(bounds[0], of));
    const [to, setTo] = useState(() => toField(bounds[1], of));
    const action = useAction();
    const apply = async () => {
        const [first, last] = [fromField(from, of), fromField(to, of)];
        if (Number.isNaN(first)) throw fieldError("from", "Enter a date and a time");
        if (Number.isNaN(last)) throw fieldError("to", "Enter a date and a time");
        if (first >= last) throw fieldError("to", "The end must be after the beginning");
        onApply(rangeBetween([first, last]));
    };
    return (
        <Form action={action} submit="Apply" onSubmit={apply}>
            <TextField label="From" name="from" kind="datetime" value={from} onInput={setFrom} />
            <TextField
                label="To"
                name="to"
                kind="datetime"
                hint={`Times are in ${zoneName(of)}; days of totals are in UTC.`}
                value={to}
                onInput={setTo}
            />
        </Form>
    );
}

export function PeriodSelect({ choices, value, label = "Period", name = "range" }: Props) {
    useStore(zone);
    const choose = (range: string) => setQuery({ [name]: range, cursor: null });
    const own = isCustom(value) ? [{ value, label: customInWords(value) }] : [];
    return (
        <>
            <Select
                label={label}
                choices={[...choices, ...own]}
                value={value}
                onChange={choose}
            />
            {value !== ALL_TIME && (
                <button type="button" onClick={() => choose(rangeBefore(value, Date.now()))}>
                    Period before
                </button>
            )}
            <Menu label="Custom range">
                {(close) => (
                    <CustomRange
                        key={value}
                        value={value}
                        onApply={(range) => {
                            choose(range);
                            close();
                        }}
                    />
                )}
            </Menu>
        </>
    );
}
