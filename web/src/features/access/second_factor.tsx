// The person's second factor: an authenticator app, and recovery codes for when it is lost.

import type { SecondFactorBegun } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { Card, Chip, CopyButton, Dialog, Form, LoadState, TextField, Time } from "../../ui";
import { QrCode } from "../../ui/qr";

const FACTOR = "GET /api/v1/auth/second-factor";

type Task = "add" | "remove" | "renew";

const TITLES: Record<Task, string> = {
    add: "Add a second factor",
    remove: "Remove the second factor",
    renew: "New recovery codes",
};

interface AskProps {
    title: string;
    onClose: () => void;
    send: (password: string) => Promise<void>;
}

/** An open session is not enough to change this. */
function AskPassword({ title, onClose, send }: AskProps) {
    const [password, setPassword] = useState("");
    const action = useAction();
    return (
        <Dialog title={title} onClose={onClose}>
            <Form action={action} submit="Continue" onSubmit={() => send(password)} onCancel={onClose}>
                <TextField
                    label="Current password"
                    name="current_password"
                    kind="password"
                    autoComplete="current-password"
                    required
                    focus
                    value={password}
                    onInput={setPassword}
                />
            </Form>
        </Dialog>
    );
}

interface ConfirmProps {
    begun: SecondFactorBegun;
    onClose: () => void;
    onDone: (codes: string[]) => void;
}

function Confirm({ begun, onClose, onDone }: ConfirmProps) {
    const [code, setCode] = useState("");
    const action = useAction();
    const confirm = async () => {
        const done = await call("POST /api/v1/auth/second-factor/confirm", { body: { code } });
        onDone(done.recovery_codes);
    };
    return (
        <Dialog title={TITLES.add} onClose={onClose}>
            <Form action={action} submit="Turn on" onSubmit={confirm} onCancel={onClose}>
                <p class="hint">
                    Scan this with your authenticator app, or type the key into it (time-based, six
                    digits, 30 seconds). Then type the code that the app shows.
                </p>
                <QrCode text={begun.uri} label="QR code of the key below" />
                <div class="secret">
                    <code>{begun.secret.match(/.{4}/g)?.join(" ")}</code>
                    <CopyButton text={begun.secret} label="Copy the key" />
                </div>
                <TextField
                    label="Code"
                    name="code"
                    autoComplete="one-time-code"
                    required
                    focus
                    value={code}
                    onInput={setCode}
                />
            </Form>
        </Dialog>
    );
}

function Codes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
    return (
        <div class="once" role="status">
            <p>
                <strong>Your recovery codes.</strong> Each signs you in once without the app. Keep
                them in a safe place, they will not be shown again.
            </p>
            <div class="secret">
                <code>{codes.join(" ")}</code>
                <CopyButton text={codes.join("\n")} label="Copy the recovery codes" />
            </div>
            <button type="button" onClick={onDone}>
                Done
            </button>
        </div>
    );
}

export function SecondFactorCard() {
    const factor = useQuery(FACTOR, (signal) => call(FACTOR, { signal }));
    const [task, setTask] = useState<Task | null>(null);
    const [begun, setBegun] = useState<SecondFactorBegun | null>(null);
    const [codes, setCodes] = useState<string[] | null>(null);
    const { data } = factor;
    const send = async (current_password: string) => {
        const body = { current_password };
        if (task === "add") setBegun(await call("POST /api/v1/auth/second-factor", { body }));
        else if (task === "remove") await call("POST /api/v1/auth/second-factor/remove", { body });
        else {
            const made = await call("POST /api/v1/auth/second-factor/recovery-codes", { body });
            setCodes(made.recovery_codes);
        }
        setTask(null);
        factor.reload();
    };
    return (
        <Card title="Second factor" class="narrow">
            <LoadState of={factor} rows={2} />
            {codes !== null && <Codes codes={codes} onDone={() => setCodes(null)} />}
            {data && !data.active && (
                <>
                    <p class="hint after-text">
                        With a second factor, signing in needs your password and a code of an
                        authenticator app.
                    </p>
                    <button type="button" class="primary" onClick={() => setTask("add")}>
                        Add a second factor
                    </button>
                </>
            )}
            {data?.active && (
                <>
                    <p>
                        <Chip tone="good">On</Chip> since <Time at={data.confirmed_at} />.{" "}
                        {data.recovery_codes_left} recovery codes left.
                    </p>
                    <div class="buttons">
                        <button type="button" onClick={() => setTask("renew")}>
                            New recovery codes
                        </button>
                        <button type="button" class="danger" onClick={() => setTask("remove")}>
                            Remove
                        </button>
                    </div>
                </>
            )}
            {task !== null && (
                <AskPassword title={TITLES[task]} onClose={() => setTask(null)} send={send} />
            )}
            {begun !== null && (
                <Confirm
                    begun={begun}
                    onClose={() => setBegun(null)}
                    onDone={(made) => {
                        setBegun(null);
                        setCodes(made);
                        factor.reload();
                    }}
                />
            )}
        </Card>
    );
}
