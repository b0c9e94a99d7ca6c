// Bundles the portal and writes it as a C table, with the libraries for agents of a folder that
// scripts/build_sdk.py made: node scripts/build.mjs OUTPUT.c FOLDER
//
// Every file but the pages has a hash of its content in its name, so that browsers may cache it
// forever. Files are compressed here, once; the service sends them unchanged.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const [output, libraries] = process.argv.slice(2);

// Pages, each with its entry. They are bundled apart: what only one needs grows no other.
const PAGES = [
    { path: "/", name: "portal", entry: "src/app/main.tsx", template: "src/index.html" },
    { path: "/docs", name: "docs", entry: "src/app/docs.tsx", template: "src/docs.html" },
];

const TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".whl": "application/zip",
    ".tgz": "application/gzip",
};

const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);

/** The licences of the bundled packages. */
function licences() {
    const { dependencies } = JSON.parse(readFileSync(join(web, "package.json"), "utf8"));
    const texts = Object.keys(dependencies).map((name) => {
        const text = readFileSync(join(web, "node_modules", name, "LICENSE"), "utf8");
        return `${name} ${dependencies[name]}\n\n${text.trim()}\n`;
    });
    return texts.join(`\n${"-".repeat(72)}\n\n`);
}

/** The version of the project that the portal is a part of. */
function version() {
    const text = readFileSync(join(web, "../CMakeLists.txt"), "utf8");
    return /\bproject\([^)]*?VERSION\s+([\d.]+)/.exec(text)[1];
}

/** The file of a library, which ends so. */
const library = (end) => readdirSync(libraries).find((name) => name.endsWith(end));
const LIBRARIES = { python: library(".whl"), node: library(".tgz") };

async function bundle({ name, entry }) {
    const made = await build({
        absWorkingDir: web,
        entryPoints: { [name]: entry },
        outdir: "out", // for the names; nothing is written
        write: false,
        bundle: true,
        minify: true,
        splitting: true,
        format: "esm",
        target: "es2021",
        jsx: "automatic",
        jsxImportSource: "preact",
        entryNames: "[name]-[hash]",
        chunkNames: "[name]-[hash]",
        define: {
            MUSTER_VERSION: JSON.stringify(version()),
            MUSTER_LIBRARIES: JSON.stringify(LIBRARIES),
        },
        legalComments: "none", // licences() has them in full
        metafile: true,
        logLevel: "warning",
    });
    const files = made.outputFiles.map((file) => ({
        name: basename(file.path),
        bytes: Buffer.from(file.contents),
    }));
    return { files, outputs: made.metafile.outputs };
}

/** Scripts that the entry imports: the browser preloads them in parallel. */
function imported(outputs, entry) {
    return outputs[entry].imports
        .filter((one) => one.kind === "import-statement")
        .map((one) => basename(one.path));
}

function page(file, names) {
    const template = readFileSync(join(web, file), "utf8");
    const preloads = names.preloads
        .map((name) => `<link rel="modulepreload" href="/assets/${name}">`)
        .join("\n");
    const parts = { ...names, preloads };
    return template.replace(/\{\{(\w+)\}\}/g, (_, part) => parts[part]);
}

async function collect() {
    const files = new Map();
    const add = (name, bytes) => {
        const end = extname(name);
        const hashed = `${basename(name, end)}-${hashOf(bytes)}${end}`;
        files.set(hashed, bytes);
        return hashed;
    };
    const shared = {
        icon: add("icon.svg", readFileSync(join(web, "src/icon.svg"))),
        licences: add("licences.txt", Buffer.from(licences())),
    };
    const pages = [];
    for (const one of PAGES) {
        const made = await bundle(one);
        for (const { name, bytes } of made.files) files.set(name, bytes);
        const { outputs } = made;
        const entry = Object.keys(outputs).find((path) => outputs[path].entryPoint === one.entry);
        const html = page(one.template, {
            ...shared,
            style: basename(outputs[entry].cssBundle),
            script: basename(entry),
            preloads: imported(outputs, entry),
        });
        pages.push({ path: one.path, name: `${one.name}.html`, bytes: Buffer.from(html) });
    }
    const rows = [...files].map(([name, bytes]) => ({ path: `/assets/${name}`, name, bytes }));
    const packages = Object.values(LIBRARIES).map((name) => {
        return { path: `/sdk/${name}`, name, bytes: readFileSync(join(libraries, name)) };
    });
    return [...pages, ...rows, ...packages];
}

function asC(files) {
    const packed = files.map((file) => gzipSync(file.bytes, { level: 9 }));
    const arrays = packed.map((bytes, i) => {
        const lines = [];
        for (let at = 0; at < bytes.length; at += 24)
            lines.push(`    ${[...bytes.subarray(at, at + 24)].join(", ")},`);
        return `static const unsigned char file_${i}[] = {\n${lines.join("\n")}\n};\n`;
    });
    const rows = files.map((file, i) => {
        const type = TYPES[extname(file.name)];
        const tag = `"\\"${hashOf(file.bytes)}\\""`;
        return `    { "${file.path}", "${type}", ${tag}, file_${i}, sizeof(file_${i}), ${file.bytes.length} },`;
    });
    return (
        "/* Generated from web/ by web/scripts/build.mjs. */\n" +
        '#include "features/portal/portal.h"\n\n' +
        `${arrays.join("\n")}\n` +
        `const struct portal_file portal_files[] = {\n${rows.join("\n")}\n};\n\n` +
        "const size_t n_portal_files = sizeof(portal_files) / sizeof(portal_files[0]);\n"
    );
}

const files = await collect();
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, asC(files));
