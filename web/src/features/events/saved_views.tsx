// Views of a list that a person has given a name: its filters and order, kept in this browser.

import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { fieldError } from "../../lib/api";
import { Form, IconButton, Menu, TextField } from "../../ui";

const VIEWS_MAX = 50;

interface View {
    name: string;
    query: string; // of the address
}

const keyOf = (slug: string) => `muster.views.${slug}.runs`;

function read(slug: string): View[] {
    try {
        const views: unknown = JSON.parse(localStorage.getItem(keyOf(slug)) ?? "[]");
        return Array.isArray(views) ? (views as View[]) : [];
    } catch {
        return []; // storage is blocked, or holds something else
    }
}

interface Props {
    slug: string;
    path: string;
    query: URLSearchParams;
}

export function SavedViews({ slug, path, query }: Props) {
    const [views, setViews] = useState(() => read(slug));
    const [name, setName] = useState("");
    const action = useAction();
    const keep = (to: View[]) => {
        localStorage.setItem(keyOf(slug), JSON.stringify(to));
        setViews(to);
    };
    const save = async () => {
        const text = new URLSearchParams(query);
        text.delete("cursor");
        const named = name.trim();
        const others = views.filter((one) => one.name !== named);
        if (others.length >= VIEWS_MAX) throw fieldError("name", `There are ${VIEWS_MAX} already`);
        keep([...others, { name: named, query: text.toString() }]);
        setName("");
    };
    return (
        <Menu label="Views">
            {(close) => (
                <>
                    {views.length === 0 && (
                        <p class="hint">A view keeps these filters and their order under a name.</p>
                    )}
                    {views.map((view) => (
                        <span class="view" key={view.name}>
                            <a href={`#${path}?${view.query}`} dir="auto" onClick={close}>
                                {view.name}
                            </a>
                            <IconButton
                                icon="close"
                                label={`Forget ${view.name}`}
                                onClick={() => keep(views.filter((one) => one !== view))}
                            />
                        </span>
                    ))}
                    <Form action={action} submit="Save this view" onSubmit={save}>
                        <TextField
                            label="Name"
                            name="name"
                            hint="Kept in this browser. The address of the page is a link for others."
                            required
                            value={name}
                            onInput={setName}
                        />
                    </Form>
                </>
            )}
        </Menu>
    );
}
