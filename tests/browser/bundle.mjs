// A module of the portal, for a test without a browser.

import { createRequire } from "node:module";
import { join } from "node:path";

import { ROOT } from "./root.mjs";

const { buildSync } = createRequire(join(ROOT, "web/package.json"))("esbuild");

/** A file of web/src/lib. */
export async function load(file) {
    const made = buildSync({
        entryPoints: [join(ROOT, "web/src/lib", file)],
        bundle: true,
        format: "esm",
        write: false,
        jsx: "automatic",
        jsxImportSource: "preact",
    });
    return import(
        `data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString("base64")}`
    );
}
