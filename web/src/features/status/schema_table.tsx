// The members of a body or an answer; nested ones open on demand.

import { boundsOf, membersOf, type OpenApi, type Schema, typeOf } from "./document";

function Member({ api, name, schema, required }: MemberProps) {
    const nested = membersOf(api, schema);
    const bounds = boundsOf(schema);
    return (
        <li>
            <code class="name">{name}</code> <span class="type">{typeOf(schema)}</span>
            {required && <span class="required">required</span>}
            {bounds !== "" && <span class="hint">{bounds}</span>}
            {schema.default !== undefined && (
                <span class="hint">default {JSON.stringify(schema.default)}</span>
            )}
            {schema.description && <p>{schema.description}</p>}
            {nested && (
                <details>
                    <summary>Members of {name}</summary>
                    <SchemaTable api={api} schema={nested} />
                </details>
            )}
        </li>
    );
}

interface MemberProps {
    api: OpenApi;
    name: string;
    schema: Schema;
    required: boolean;
}

export function SchemaTable({ api, schema }: { api: OpenApi; schema: Schema }) {
    const required = new Set(schema.required ?? []);
    return (
        <ul class="members">
            {Object.entries(schema.properties ?? {}).map(([name, of]) => (
                <Member key={name} api={api} name={name} schema={of} required={required.has(name)} />
            ))}
        </ul>
    );
}
