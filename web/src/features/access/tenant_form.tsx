// The name and slug of a tenant that is being created.

import { useState } from "preact/hooks";

import { slugOf } from "../../lib/format";
import { TextField } from "../../ui";

/** The slug follows the name until it is edited. */
export function useNameAndSlug(name: string) {
    const [typedName, setName] = useState(name);
    const [typedSlug, setSlug] = useState<string | null>(null);
    return { name: typedName, slug: typedSlug ?? slugOf(typedName), setName, setSlug };
}

type State = ReturnType<typeof useNameAndSlug>;

export function NameField({ state }: { state: State }) {
    return <TextField label="Name" name="name" required focus value={state.name} onInput={state.setName} />;
}

export function SlugField({ state }: { state: State }) {
    return (
        <TextField
            label="Slug"
            name="slug"
            hint="Used by agents and in URLs; cannot be changed later."
            required
            pattern="[a-z0-9]+(-[a-z0-9]+)*"
            value={state.slug}
            onInput={state.setSlug}
        />
    );
}
