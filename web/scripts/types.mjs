// Writes types/api.d.ts from docs/openapi.json: the schemas as interfaces, and a map from
// "METHOD /path" to the parameters, body and answer of the operation.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const api = JSON.parse(readFileSync(join(web, "../docs/openapi.json"), "utf8"));
const METHODS = ["get", "post", "put", "patch", "delete"];

const key = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));

function objectType(schema) {
    const required = new Set(schema.required ?? []);
    const members = Object.entries(schema.properties ?? {}).map(
        ([name, of]) => `${key(name)}${required.has(name) ? "" : "?"}: ${typeOf(of)}`,
    );
    if (members.length > 0) return `{ ${members.join("; ")} }`;
    const values = schema.additionalProperties;
    return `{ [key: string]: ${typeof values === "object" ? typeOf(values) : "unknown"} }`;
}

function typeOf(schema) {
    if (schema.$ref) return schema.$ref.split("/").pop();
    if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
    if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    switch (schema.type) {
        case "string":
            return "string";
        case "integer":
        case "number":
            return "number";
        case "boolean":
            return "boolean";
        case "null":
            return "null";
        case "array":
            return `Array<${schema.items ? typeOf(schema.items) : "unknown"}>`;
        case "object":
            return objectType(schema);
        default:
            return "unknown";
    }
}

function parametersOf(operation, place) {
    const members = (operation.parameters ?? [])
        .filter((parameter) => parameter.in === place)
        .map(
            ({ name, required, schema }) => `${key(name)}${required ? "" : "?"}: ${typeOf(schema)}`,
        );
    return members.length > 0 ? `{ ${members.join("; ")} }` : "{}";
}

function contentOf(holder) {
    const schema = holder?.content?.["application/json"]?.schema;
    return schema && Object.keys(schema).length > 0 ? typeOf(schema) : "unknown";
}

function answerOf(operation) {
    const status = Object.keys(operation.responses).find((code) => code.startsWith("2"));
    return contentOf(operation.responses[status]);
}

function interfaces() {
    return Object.entries(api.components.schemas).map(([name, schema]) =>
        schema.type === "object" && schema.properties
            ? `export interface ${name} ${objectType(schema)}`
            : `export type ${name} = ${typeOf(schema)};`,
    );
}

function operations() {
    const rows = [];
    for (const [path, methods] of Object.entries(api.paths)) {
        for (const method of METHODS.filter((one) => one in methods)) {
            const operation = methods[method];
            const body = operation.requestBody ? contentOf(operation.requestBody) : "undefined";
            rows.push(
                `    "${method.toUpperCase()} ${path}": { path: ${parametersOf(operation, "path")}; ` +
                    `query: ${parametersOf(operation, "query")}; ` +
                    `body: ${body}; answer: ${answerOf(operation)} };`,
            );
        }
    }
    return rows;
}

const text = [
    "// Generated from docs/openapi.json by scripts/types.mjs.",
    ...interfaces(),
    `export interface Operations {\n${operations().join("\n")}\n}`,
    "",
].join("\n\n");
mkdirSync(join(web, "types"), { recursive: true });
writeFileSync(join(web, "types/api.d.ts"), text);
