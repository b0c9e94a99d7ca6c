// Builds DIST/esm and DIST/cjs, each with one file of code and the types beside it:
//   node build.mjs DIST
// By the packages of web/, so that one installation builds the service with both. They have no types
// of Node.js; scripts/check_types.py checks those.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const web = join(here, "../../web");
const dist = resolve(process.argv[2]);
const { build } = createRequire(join(web, "package.json"))("esbuild");

rmSync(dist, { recursive: true, force: true });
const emitTypes = ["--emitDeclarationOnly", "--noCheck", "--types", "", "--outDir", join(dist, "esm")];
execFileSync(join(web, "node_modules/.bin/tsc"), ["-p", here, ...emitTypes], { stdio: "inherit" });
mkdirSync(join(dist, "cjs"));
for (const name of readdirSync(join(dist, "esm"))) {
    cpSync(join(dist, "esm", name), join(dist, "cjs", name));
}
writeFileSync(join(dist, "cjs/package.json"), '{ "type": "commonjs" }\n');
for (const format of ["esm", "cjs"]) {
    await build({
        absWorkingDir: here, // names of files in comments begin here
        entryPoints: [join(here, "src/index.ts")],
        outfile: join(dist, format, "index.js"),
        bundle: true,
        format,
        platform: "node",
        target: "node18",
        logLevel: "warning",
    });
}
