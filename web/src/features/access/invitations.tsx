// Invitations: persons who choose their own password by a link.

import type { Invitation, LinkCreated } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { ConfirmButton, Dialog, Form, ListCard, SecretOnce, Time } from "../../ui";
import { EmailField, RoleField } from "./user_fields";

/** The link opens this portal, wherever the settings say that it is. */
const ownUrl = (url: string) => location.origin + location.pathname + url.slice(url.indexOf("#"));

/** After a link was created: it was sent, or is shown once. */
export function LinkOutcome({ made, onDone }: { made: LinkCreated; onDone: () => void }) {
    if (made.url === null)
        return (
            <div class="once" role="status">
                {made.mailed ? (
                    <p>
                        A link was sent to <strong>{made.email}</strong> by e-mail. It expires{" "}
                        <Time at={made.expires_at} />.
                    </p>
                ) : (
                    <p>
                        The link for <strong>{made.email}</strong> could not be sent:{" "}
                        {made.mail_problem}. It is not shown, because there is an account with that
                        address which is not confirmed.
                    </p>
                )}
                <button type="button" onClick={onDone}>
                    Done
                </button>
            </div>
        );
    return (
        <SecretOnce text={ownUrl(made.url)} title={`The link for ${made.email}.`} onDone={onDone}>
            <p>
                {made.mail_problem !== null && <>It could not be sent: {made.mail_problem}. </>}
                Pass it on yourself. It works once and expires <Time at={made.expires_at} />.
            </p>
        </SecretOnce>
    );
}

interface InviteProps<Role extends string> {
    roles: readonly { value: Role; label: string }[];
    initial: Role;
    send: (email: string, role: Role) => Promise<LinkCreated>;
    onClose: () => void;
    onDone: (made: LinkCreated) => void;
}

export function InviteDialog<Role extends string>(props: InviteProps<Role>) {
    const [email, setEmail] = useState("");
    const [role, setRole] = useState<Role>(props.initial);
    const action = useAction();
    const send = async () => props.onDone(await props.send(email, role));
    return (
        <Dialog title="Invite a person" onClose={props.onClose}>
            <Form action={action} submit="Invite" onSubmit={send} onCancel={props.onClose}>
                <p class="hint">
                    They get a link and choose their own password. It works once, within seven days.
                </p>
                <EmailField value={email} onInput={setEmail} />
                <RoleField roles={props.roles} value={role} onInput={setRole} />
            </Form>
        </Dialog>
    );
}

const TENANT = "GET /api/v1/tenants/{slug}/invitations";
const PLATFORM = "GET /api/v1/platform/invitations";

/** "admin" in its own workspace, "acme (admin)" elsewhere. */
const rolesOf = (one: Invitation, slug: string | null) =>
    [
        one.role?.replace("_", " "),
        ...one.tenants.map((at) => (at.slug === slug ? at.role : `${at.slug} (${at.role})`)),
    ]
        .filter(Boolean)
        .join(", ");

/** The open invitations of a workspace (null: of the platform); nothing without any. */
export function Invitations({ slug, version }: { slug: string | null; version: number }) {
    const open = useQuery(`${slug ?? PLATFORM} invitations ${version}`, (signal) =>
        slug === null ? call(PLATFORM, { signal }) : call(TENANT, { path: { slug }, signal }),
    );
    const rows = open.data?.invitations ?? [];
    const revoke = async ({ link_id }: Invitation) => {
        if (slug === null)
            await call("DELETE /api/v1/platform/invitations/{link_id}", { path: { link_id } });
        else
            await call("DELETE /api/v1/tenants/{slug}/invitations/{link_id}", {
                path: { slug, link_id },
            });
        open.reload();
    };
    if (rows.length === 0) return null;
    return (
        <ListCard
            title="Open invitations"
            loaded={open}
            rows={rows}
            keyOf={(one) => one.link_id}
            columns={[
                { title: "E-mail", class: "grow", cell: (one) => one.email },
                {
                    title: "Role",
                    class: "fit",
                    cell: (one) => rolesOf(one, slug),
                },
                { title: "Invited by", class: "grow", label: "invited by", cell: (one) => one.made_by },
                {
                    title: "Expires",
                    class: "fit",
                    label: "expires",
                    cell: (one) => <Time at={one.expires_at} />,
                },
            ]}
            buttons={(one) => (
                <ConfirmButton
                    label="Revoke"
                    name={`Revoke the invitation of ${one.email}`}
                    title={`Revoke the invitation of ${one.email}?`}
                    text="Its link stops working."
                    verb="Revoke"
                    onConfirm={() => revoke(one)}
                />
            )}
        />
    );
}
