// The parameter catalog of a workspace: which parameters are secret, who may set them, and who may
// see their values. Agents cannot change it by what they declare.

import type { CatalogParameter } from "api";
import { useState } from "preact/hooks";

import { useAction } from "../../lib/action";
import { call } from "../../lib/api";
import { labelOf } from "../../lib/choices";
import { useQuery } from "../../lib/query";
import { setQuery, useRoute } from "../../lib/route";
import { Check, Chip, ChoiceField, Dialog, Empty, Form, ListCard, Steps } from "../../ui";

const CATALOG = "GET /api/v1/tenants/{slug}/catalog";
const CHANGE = "PATCH /api/v1/tenants/{slug}/catalog/{key}";
const PAGE = 100;

type Edit = CatalogParameter["edit"];
type See = CatalogParameter["see"];

const EDITORS: { value: Edit; label: string }[] = [
    { value: "admin", label: "Admins" },
    { value: "member", label: "Admins and members" },
];
const VIEWERS: { value: See; label: string }[] = [
    { value: "member", label: "Admins and members" },
    { value: "admin", label: "Admins" },
    { value: "nobody", label: "Nobody" },
];

interface ParameterDialogProps {
    slug: string;
    parameter: CatalogParameter;
    onClose: () => void;
    onDone: () => void;
}

function ParameterDialog({ slug, parameter, onClose, onDone }: ParameterDialogProps) {
    const { key } = parameter;
    const [secret, setSecret] = useState(parameter.secret);
    const [edit, setEdit] = useState<Edit>(parameter.edit);
    const [see, setSee] = useState<See>(parameter.see);
    const action = useAction();
    const save = async () => {
        await call(CHANGE, { path: { slug, key }, body: { secret, edit, see } });
        onDone();
    };
    return (
        <Dialog title={key} onClose={onClose}>
            <Form action={action} submit="Save" onSubmit={save} onCancel={onClose}>
                <Check
                    label="Secret: values must refer to the vault"
                    value={secret}
                    onChange={setSecret}
                />
                <ChoiceField
                    label="Can be set by"
                    hint="References to secrets can only be set by admins."
                    choices={EDITORS}
                    value={edit}
                    onInput={(to) => setEdit(to as Edit)}
                />
                <ChoiceField
                    label="Values visible to"
                    choices={VIEWERS}
                    value={see}
                    onInput={(to) => setSee(to as See)}
                />
            </Form>
        </Dialog>
    );
}

export function Catalog({ slug, canEdit }: { slug: string; canEdit: boolean }) {
    const after = useRoute().query.get("after");
    const [edited, setEdited] = useState<CatalogParameter | null>(null);
    const catalog = useQuery(`${CATALOG} ${slug} ${after}`, (signal) =>
        call(CATALOG, { path: { slug }, query: { limit: PAGE, after }, signal }),
    );
    const next = catalog.data?.next;
    return (
        <ListCard
            title="Parameters"
            aside="Who can set and see their values"
            loaded={catalog}
            empty={
                <Empty title="No parameters">
                    <p>
                        Agents declare their parameters with <code>config_schema</code> when they
                        register.
                    </p>
                </Empty>
            }
            rows={catalog.data?.parameters ?? []}
            keyOf={(parameter) => parameter.key}
            columns={[
                {
                    title: "Key",
                    class: "grow",
                    cell: ({ key, secret }) => (
                        <>
                            <code>{key}</code> {secret && <Chip tone="warn">secret</Chip>}
                        </>
                    ),
                },
                {
                    title: "Set by",
                    class: "fit",
                    label: "set by",
                    cell: ({ edit }) => labelOf(EDITORS, edit),
                },
                {
                    title: "Visible to",
                    class: "fit",
                    label: "visible to",
                    cell: ({ see }) => labelOf(VIEWERS, see),
                },
            ]}
            buttons={
                canEdit &&
                ((parameter) => (
                    <button
                        type="button"
                        aria-label={`Change ${parameter.key}`}
                        onClick={() => setEdited(parameter)}
                    >
                        Change
                    </button>
                ))
            }
        >
            <Steps
                back={
                    after === null
                        ? null
                        : { label: "First", go: () => setQuery({ after: null }) }
                }
                on={next ? { label: "More", go: () => setQuery({ after: next }) } : null}
            />
            {edited !== null && (
                <ParameterDialog
                    slug={slug}
                    parameter={edited}
                    onClose={() => setEdited(null)}
                    onDone={() => {
                        setEdited(null);
                        catalog.reload();
                    }}
                />
            )}
        </ListCard>
    );
}
