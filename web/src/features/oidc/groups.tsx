// Which groups of the identity provider give which role.

import type { OidcGroup } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { ChoiceField, ConfirmButton, Dialog, Empty, Form, Icon, ListCard, TextField, Time } from "../../ui";
import { TENANTS } from "../access/my_tenants";
import { RoleField } from "../access/user_fields";

const STATE = "GET /api/v1/auth/oidc";
const GROUPS = "GET /api/v1/platform/oidc/groups";

type Role = OidcGroup["role"];

const ROLES: { value: Role; label: string }[] = [
    { value: "member", label: "Member of a workspace: can view, acknowledge, mute" },
    { value: "admin", label: "Admin of a workspace: can also change" },
    { value: "platform_admin", label: "Platform admin: full access" },
];

const roleName = (role: Role) => role.replace("_", " ");

function AddGroup({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
    const tenants = useQuery(TENANTS, (signal) => call(TENANTS, { signal })).data?.tenants ?? [];
    const [group, setGroup] = useState("");
    const [role, setRole] = useState<Role>("member");
    const [chosen, setChosen] = useState("");
    const action = useAction();
    const tenant = chosen || tenants[0]?.slug || "";
    const add = async () => {
        const where = role === "platform_admin" ? null : tenant;
        await call("POST /api/v1/platform/oidc/groups", { body: { group, role, tenant: where } });
        onDone();
    };
    return (
        <Dialog title="Give a group a role" onClose={onClose}>
            <Form action={action} submit="Add" onSubmit={add} onCancel={onClose}>
                <TextField
                    label="Group"
                    name="group"
                    required
                    focus
                    hint="Exactly as the identity provider sends it."
                    value={group}
                    onInput={setGroup}
                />
                <RoleField roles={ROLES} value={role} onInput={setRole} />
                {role !== "platform_admin" && (
                    <ChoiceField
                        label="Workspace"
                        choices={tenants.map((one) => ({
                            value: one.slug,
                            label: one.name || one.slug,
                        }))}
                        value={tenant}
                        onInput={setChosen}
                    />
                )}
                {role === "platform_admin" && (
                    <p class="hint">
                        This makes the administrators of the identity provider those of this service.
                    </p>
                )}
            </Form>
        </Dialog>
    );
}

function RemoveGroup({ group, onRemoved }: { group: OidcGroup; onRemoved: () => void }) {
    const where = group.tenant ?? "the platform";
    return (
        <ConfirmButton
            label="Remove"
            name={`Remove ${group.group} from ${where}`}
            title={`Take the role ${roleName(group.role)} in ${where} from ${group.group}?`}
            text="In effect at each person's next sign-in. To have it at once, sign them out under Users."
            verb="Remove"
            onConfirm={async () => {
                const { group_id } = group;
                await call("DELETE /api/v1/platform/oidc/groups/{group_id}", { path: { group_id } });
                onRemoved();
            }}
        />
    );
}

/** What the settings of the service say about sign-in. */
function Provider() {
    const { data } = useQuery(STATE, (signal) => call(STATE, { signal }));
    if (!data) return null;
    if (!data.enabled)
        return (
            <p class="prose after-text">
                <span>
                    No identity provider is set up: people sign in with a password. The operator of
                    the service sets one up with <code>oidc_issuer</code>.
                </span>
            </p>
        );
    return (
        <p class="prose after-text">
            People sign in by {data.name}
            {data.password_sign_in ? ", or with a password" : "; passwords are switched off"}. Only
            people in a group of this list get in, with the role of their group. Where a workspace,
            or the platform, has a group, groups alone decide these roles.
        </p>
    );
}

export function Groups() {
    const [adding, setAdding] = useState(false);
    const groups = useQuery(GROUPS, (signal) => call(GROUPS, { signal }));
    const done = () => {
        setAdding(false);
        groups.reload();
    };
    return (
        <ListCard
            title="Groups of the identity provider"
            aside={
                <button type="button" class="primary" onClick={() => setAdding(true)}>
                    <Icon name="plus" /> Add group
                </button>
            }
            above={<Provider />}
            loaded={groups}
            rows={groups.data?.groups ?? []}
            keyOf={(one) => one.group_id}
            empty={<Empty title="No group gives a role yet" />}
            columns={[
                {
                    title: "Group",
                    class: "grow",
                    by: (one) => one.group,
                    cell: (one) => <span dir="auto">{one.group}</span>,
                },
                { title: "Role", class: "fit", cell: (one) => roleName(one.role) },
                {
                    title: "Workspace",
                    class: "fit",
                    label: "workspace",
                    cell: (one) => (one.tenant === null ? "all: the platform" : <code>{one.tenant}</code>),
                },
                {
                    title: "Added",
                    class: "fit wide",
                    label: "added",
                    cell: (one) => <Time at={one.created_at} />,
                },
            ]}
            buttons={(one) => <RemoveGroup group={one} onRemoved={groups.reload} />}
        >
            {adding && <AddGroup onClose={() => setAdding(false)} onDone={done} />}
        </ListCard>
    );
}
