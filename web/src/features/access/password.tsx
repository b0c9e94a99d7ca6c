// One's own password.

import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { enter, session } from "./session";
import { useStore } from "../../lib/store";
import { Card } from "../../ui/basics";
import { Form, TextField } from "../../ui/forms";

export function PasswordCard() {
    const now = useStore(session);
    const [current, setCurrent] = useState("");
    const [wanted, setWanted] = useState("");
    const [told, setTold] = useState("");
    const act = useAct();
    const save = async () => {
        setTold("");
        const me = await call("POST /api/v1/auth/password", {
            body: { current_password: current, new_password: wanted },
        });
        enter(me);
        setCurrent("");
        setWanted("");
        setTold("Changed. Your other sessions have ended.");
    };
    return (
        <Card title="Your password" class="narrow">
            {now.state === "in" && <p class="hint">You are {now.me.email}.</p>}
            <Form act={act} submit="Change it" onSubmit={save}>
                <TextField
                    label="Current password"
                    kind="password"
                    auto="current-password"
                    required
                    value={current}
                    onInput={setCurrent}
                />
                <TextField
                    label="New password"
                    kind="password"
                    auto="new-password"
                    least={12}
                    required
                    hint="At least 12 characters."
                    value={wanted}
                    onInput={setWanted}
                />
                <p role="status">{told}</p>
            </Form>
        </Card>
    );
}
