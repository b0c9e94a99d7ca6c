// What somebody without any workspace sees: how to get one.

import { useState } from "preact/hooks";

import { ApiError, call } from "../lib/api";
import { slugOf } from "../lib/format";
import { forget } from "../lib/query";
import { go } from "../lib/route";
import { isPlatformAdmin, type Me } from "../features/access/session";
import { startOf } from "../app/pages";
import { Card, Empty, ErrorNote, Field } from "../ui/basics";

function MakeTenant() {
    const [name, setName] = useState("");
    const [slug, setSlug] = useState<string | null>(null); // null: as the name says
    const [error, setError] = useState<ApiError | null>(null);
    const [busy, setBusy] = useState(false);
    const chosen = slug ?? slugOf(name);
    const submit = async (event: Event) => {
        event.preventDefault();
        setBusy(true);
        try {
            await call("POST /api/v1/tenants", { body: { slug: chosen, name } });
            forget("GET /api/v1/tenants");
            go(startOf(chosen));
        } catch (problem) {
            setError(problem instanceof ApiError ? problem : new ApiError(0, String(problem)));
            setBusy(false);
        }
    };
    return (
        <form class="stack" onSubmit={submit}>
            {error && <ErrorNote error={error} />}
            <Field label="Name">
                {(id) => (
                    <input
                        id={id}
                        type="text"
                        required
                        autoFocus
                        value={name}
                        onInput={(event) => setName(event.currentTarget.value)}
                    />
                )}
            </Field>
            <Field label="Slug" hint="How agents and addresses name it; it stays.">
                {(id) => (
                    <input
                        id={id}
                        type="text"
                        required
                        pattern="[a-z0-9]+(-[a-z0-9]+)*"
                        value={chosen}
                        onInput={(event) => setSlug(event.currentTarget.value)}
                    />
                )}
            </Field>
            <button type="submit" class="primary" disabled={busy || chosen === ""}>
                Make the workspace
            </button>
        </form>
    );
}

export function Welcome({ me }: { me: Me }) {
    if (!isPlatformAdmin(me))
        return (
            <Empty title="No workspace yet">
                <p>You belong to none. Ask an admin of the workspace you need to add {me.email}.</p>
            </Empty>
        );
    return (
        <Card title="Make the first workspace" class="narrow">
            <p class="hint">
                A workspace holds the agents, runs and keys of one customer or team, apart from all
                others.
            </p>
            <MakeTenant />
        </Card>
    );
}
