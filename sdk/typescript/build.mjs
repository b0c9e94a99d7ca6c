// Builds dist/: dist/esm and dist/cjs, each with one file of code and the types beside it.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

rmSync(dist, { recursive: true, force: true });
execFileSync(join(here, "node_modules/.bin/tsc"), ["-p", here, "--emitDeclarationOnly"], {
    stdio: "inherit",
});
mkdirSync(join(dist, "cjs"));
for (const name of readdirSync(join(dist, "esm"))) {
    cpSync(join(dist, "esm", name), join(dist, "cjs", name));
}
writeFileSync(join(dist, "cjs/package.json"), '{ "type": "commonjs" }\n');
for (const format of ["esm", "cjs"]) {
    await build({
        entryPoints: [join(here, "src/index.ts")],
        outfile: join(dist, format, "index.js"),
        bundle: true,
        format,
        platform: "node",
        target: "node18",
        logLevel: "warning",
    });
}
