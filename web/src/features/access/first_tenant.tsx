// The form for a platform's first workspace.

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { homePath } from "../../lib/paths";
import { navigate } from "../../lib/route";
import { Card, Form } from "../../ui";
import { NameField, SlugField, useNameAndSlug } from "./tenant_form";

export function FirstTenant() {
    const named = useNameAndSlug("");
    const action = useAction();
    const create = async () => {
        const { name, slug } = named;
        await call("POST /api/v1/tenants", { body: { slug, name } });
        navigate(homePath(slug));
    };
    return (
        <Card title="Create the first workspace" class="narrow">
            <p class="hint">
                A workspace holds the agents, runs and keys of one customer or team, separate from
                all others.
            </p>
            <Form
                action={action}
                submit="Create workspace"
                disabled={named.slug === ""}
                onSubmit={create}
            >
                <NameField state={named} />
                <SlugField state={named} />
            </Form>
        </Card>
    );
}
