// The person's own password.

import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { ApiError, call, fieldError } from "../../lib/api";
import { useStore } from "../../lib/store";
import { Card, ChoiceField, Form, TextField } from "../../ui";
import { session, setSignedIn } from "./session";

export const PASSWORD_MIN = 12;

const TOKENS = [
    { value: "delete", label: "Delete them" },
    { value: "keep", label: "Keep them" },
];

async function change(current_password: string, new_password: string, keep_tokens: boolean) {
    try {
        return await call("POST /api/v1/auth/password", {
            body: { current_password, new_password, keep_tokens },
        });
    } catch (problem) {
        if (problem instanceof ApiError && problem.status === 403)
            throw fieldError("current_password", problem.message);
        throw problem;
    }
}

export function PasswordCard() {
    const now = useStore(session);
    const [current, setCurrent] = useState("");
    const [wanted, setWanted] = useState("");
    const [tokens, setTokens] = useState("delete");
    const [message, setMessage] = useState("");
    const action = useAction();
    const save = async () => {
        setMessage("");
        const me = await change(current, wanted, tokens === "keep");
        setSignedIn(me);
        setCurrent("");
        setWanted("");
        setMessage("Password changed. Your other sessions have ended.");
    };
    return (
        <Card title="Your password" class="narrow">
            {now.state === "in" && <p class="hint">Signed in as {now.me.email}.</p>}
            <Form action={action} submit="Change password" onSubmit={save}>
                <TextField
                    label="Current password"
                    name="current_password"
                    kind="password"
                    autoComplete="current-password"
                    required
                    value={current}
                    onInput={setCurrent}
                />
                <TextField
                    label="New password"
                    name="new_password"
                    kind="password"
                    autoComplete="new-password"
                    min={PASSWORD_MIN}
                    required
                    hint={`At least ${PASSWORD_MIN} characters.`}
                    value={wanted}
                    onInput={setWanted}
                />
                <ChoiceField
                    label="Your personal access tokens"
                    hint="Delete them if someone else may have used your account."
                    choices={TOKENS}
                    value={tokens}
                    onInput={setTokens}
                />
                <p role="status">{message}</p>
            </Form>
        </Card>
    );
}
