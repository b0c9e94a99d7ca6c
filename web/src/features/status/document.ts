// The OpenAPI document as /docs reads it.

export interface Schema {
    $ref?: string;
    type?: string;
    format?: string;
    enum?: string[];
    anyOf?: Schema[];
    items?: Schema;
    additionalProperties?: Schema | boolean;
    properties?: Record<string, Schema>;
    required?: string[];
    description?: string;
    default?: unknown;
    minimum?: number;
    maximum?: number;
    minLength?: number;
    maxLength?: number;
    pattern?: string;
}

export interface Parameter {
    name: string;
    in: "path" | "query";
    required: boolean;
    description: string;
    schema: Schema;
    example?: unknown;
}

interface Content {
    schema: Schema;
    example: unknown;
}

export interface Reply {
    description: string;
    content?: Record<string, Content>;
}

export interface Operation {
    tags: string[];
    operationId: string;
    summary: string;
    description: string;
    parameters?: Parameter[];
    requestBody?: { content: Record<string, Content> };
    responses: Record<string, Reply & { $ref?: string }>;
    security: Record<string, string[]>[];
}

export interface OpenApi {
    info: { title: string; version: string; description: string };
    tags: { name: string; description: string }[];
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema>; responses: Record<string, Reply> };
}

/** An operation with the method and path that it stands under. */
export interface Entry {
    method: string;
    path: string;
    operation: Operation;
}

export function entriesOf(api: OpenApi): Entry[] {
    return Object.entries(api.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
            method: method.toUpperCase(),
            path,
            operation,
        })),
    );
}

/** Does the operation have every word that was typed? */
export function matches({ method, path, operation }: Entry, text: string): boolean {
    const said = `${method} ${path} ${operation.operationId} ${operation.summary}`.toLowerCase();
    return text
        .toLowerCase()
        .split(/\s+/)
        .every((word) => said.includes(word));
}

export const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);

export function replyOf(api: OpenApi, reply: Reply & { $ref?: string }): Reply {
    return reply.$ref ? (api.components.responses[nameOf(reply.$ref)] ?? reply) : reply;
}

/** The type in words: "string", "list of Run", "integer or null". */
export function typeOf(schema: Schema): string {
    if (schema.$ref) return nameOf(schema.$ref);
    if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
    if (schema.enum) return schema.enum.join(" | ");
    if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
    if (typeof schema.additionalProperties === "object")
        return `object of ${typeOf(schema.additionalProperties)}`;
    return schema.format && schema.type === "string" ? schema.format : (schema.type ?? "any JSON");
}

const BOUNDS = ["minimum", "maximum", "minLength", "maxLength", "pattern"] as const;

/** Bounds in words: "minimum 1, maximum 1000". */
export function boundsOf(schema: Schema): string {
    const of = schema.anyOf?.find((one) => one.type !== "null") ?? schema;
    return BOUNDS.filter((name) => of[name] !== undefined)
        .map((name) => `${name} ${String(of[name])}`)
        .join(", ");
}

/** The schema whose members are worth a table: what is referred to, or listed. */
export function membersOf(api: OpenApi, schema: Schema): Schema | null {
    if (schema.$ref) return api.components.schemas[nameOf(schema.$ref)] ?? null;
    if (schema.items) return membersOf(api, schema.items);
    for (const one of schema.anyOf ?? []) {
        const found = membersOf(api, one);
        if (found) return found;
    }
    return null;
}
