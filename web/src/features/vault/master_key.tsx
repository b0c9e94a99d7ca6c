// The master key of the vault, and its rotation.

import { useState } from "preact/hooks";

import { call } from "../../lib/api";
import { plural } from "../../lib/format";
import { Card, ConfirmButton } from "../../ui";

export function MasterKey() {
    const [result, setResult] = useState("");
    const rotate = async () => {
        const done = await call("POST /api/v1/platform/vault/rotate", {});
        setResult(
            `${plural(done.data_keys, "data key")} re-encrypted. ` +
                `The old master key was ${done.old_key_removed ? "deleted" : "kept"}. ` +
                "Back up the new master key.",
        );
    };
    return (
        <Card title="Vault" class="narrow">
            <p class="prose after-text">
                Secrets are encrypted with a master key that is not stored in the database. It can
                be replaced without downtime; afterwards, back it up separately from the database.
            </p>
            <ConfirmButton
                plain
                label="Rotate master key"
                title="Rotate the master key?"
                text="Older backups of the database need the old key: keep it as long as you keep them."
                verb="Rotate"
                onConfirm={rotate}
            />
            <p role="status" class="after">
                {result}
            </p>
        </Card>
    );
}
