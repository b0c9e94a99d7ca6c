// The catalog of parameters: which are secret, who may set them, and who sees what is set. It is the
// workspace's own: no agent can change it by what it declares.

import type { CatalogParameter } from "api";
import { useState } from "preact/hooks";

import { useAct } from "../../lib/action";
import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { setQuery, usePlace } from "../../lib/route";
import { Card, Empty, ErrorNote, Skeleton } from "../../ui/basics";
import { Dialog } from "../../ui/dialog";
import { Check, ChoiceField, Form } from "../../ui/forms";
import { Chip } from "../../ui/chip";

const CATALOG = "GET /api/v1/tenants/{slug}/catalog";
const CHANGE = "PATCH /api/v1/tenants/{slug}/catalog/{key}";
const PAGE = 100;

type Edit = CatalogParameter["edit"];
type See = CatalogParameter["see"];

const EDITORS: { value: Edit; label: string }[] = [
    { value: "admin", label: "Admins" },
    { value: "member", label: "Members too" },
];
const SEERS: { value: See; label: string }[] = [
    { value: "member", label: "Members too" },
    { value: "admin", label: "Admins" },
    { value: "nobody", label: "Nobody" },
];

const wordsOf = (choices: { value: string; label: string }[], value: string) =>
    choices.find((one) => one.value === value)?.label ?? value;

interface ClassifyProps {
    slug: string;
    of: CatalogParameter;
    onClose: () => void;
    onDone: () => void;
}

function Classify({ slug, of, onClose, onDone }: ClassifyProps) {
    const [secret, setSecret] = useState(of.secret);
    const [edit, setEdit] = useState<Edit>(of.edit);
    const [see, setSee] = useState<See>(of.see);
    const act = useAct();
    const save = async () => {
        await call(CHANGE, { path: { slug, key: of.key }, body: { secret, edit, see } });
        onDone();
    };
    return (
        <Dialog title={of.key} onClose={onClose}>
            <Form act={act} submit="Save" onSubmit={save} onCancel={onClose}>
                <Check
                    label="It is secret: values must refer to the vault"
                    value={secret}
                    onChange={setSecret}
                />
                <ChoiceField
                    label="Who may set it"
                    hint="A reference to a secret is for admins, whatever this says."
                    choices={EDITORS}
                    value={edit}
                    onInput={(to) => setEdit(to as Edit)}
                />
                <ChoiceField
                    label="Who sees what is set"
                    choices={SEERS}
                    value={see}
                    onInput={(to) => setSee(to as See)}
                />
            </Form>
        </Dialog>
    );
}

function Row({ of, onEdit }: { of: CatalogParameter; onEdit: (() => void) | null }) {
    return (
        <tr>
            <td class="grow">
                <code>{of.key}</code> {of.secret && <Chip tone="warn">secret</Chip>}
            </td>
            <td class="fit" data-label="set by">
                {wordsOf(EDITORS, of.edit)}
            </td>
            <td class="fit" data-label="seen by">
                {wordsOf(SEERS, of.see)}
            </td>
            {onEdit && (
                <td class="fit number">
                    <span class="row-buttons">
                        <button type="button" aria-label={`Change ${of.key}`} onClick={onEdit}>
                            Change
                        </button>
                    </span>
                </td>
            )}
        </tr>
    );
}

export function Catalog({ slug, may }: { slug: string; may: boolean }) {
    const after = usePlace().query.get("after");
    const [edited, setEdited] = useState<CatalogParameter | null>(null);
    const { data, error, reload } = useQuery(`${CATALOG} ${slug} ${after}`, (signal) =>
        call(CATALOG, { path: { slug }, query: { limit: PAGE, after }, signal }),
    );
    return (
        <Card title="Parameters" aside="Who may set and see their values">
            {error && <ErrorNote error={error} retry={reload} />}
            {!data && !error && <Skeleton rows={3} />}
            {data && data.parameters.length === 0 && (
                <Empty title="No parameters">
                    <p>
                        Agents declare what they need with <code>config_schema</code> when they
                        register.
                    </p>
                </Empty>
            )}
            {data && data.parameters.length > 0 && (
                <table class="list flat">
                    <thead>
                        <tr>
                            <th>Key</th>
                            <th>Set by</th>
                            <th>Seen by</th>
                            {may && (
                                <th>
                                    <span class="visually-hidden">Actions</span>
                                </th>
                            )}
                        </tr>
                    </thead>
                    <tbody>
                        {data.parameters.map((one) => (
                            <Row
                                key={one.key}
                                of={one}
                                onEdit={may ? () => setEdited(one) : null}
                            />
                        ))}
                    </tbody>
                </table>
            )}
            <div class="pager">
                {after !== null && (
                    <button type="button" onClick={() => setQuery({ after: null })}>
                        First
                    </button>
                )}
                {data?.next && (
                    <button type="button" onClick={() => setQuery({ after: data.next })}>
                        More
                    </button>
                )}
            </div>
            {edited !== null && (
                <Classify
                    slug={slug}
                    of={edited}
                    onClose={() => setEdited(null)}
                    onDone={() => {
                        setEdited(null);
                        reload();
                    }}
                />
            )}
        </Card>
    );
}
