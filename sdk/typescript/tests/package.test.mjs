// The package as users install it: from its tarball, without a network, in both kinds of module.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Service, folder } from "./service.mjs";

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), "..");
const USES = `const agent = new Agent("installed", { log: (text) => console.log(text) });
agent.run((run) => run.kpi("k", 1));\n`;
const service = new Service();
before(() => service.start());

test("the tarball installs offline and reports from ES modules and CommonJS", async () => {
    const project = folder();
    const npm = (cwd, ...command) =>
        execFileSync("npm", [...command, "--offline", "--cache", folder()], { cwd, encoding: "utf8" });
    const tarball = npm(PACKAGE, "pack", "--silent", "--pack-destination", project).trim();
    writeFileSync(join(project, "package.json"), '{ "private": true }\n');
    npm(project, "install", "--no-audit", "--no-fund", join(project, tarball));
    const modules = {
        "agent.mjs": `import { Agent } from "muster";\n${USES}`,
        "agent.cjs": `const { Agent } = require("muster");\n${USES}`,
    };
    for (const [name, code] of Object.entries(modules)) {
        writeFileSync(join(project, name), code);
        const workspace = service.workspace();
        const options = { cwd: project, env: workspace.environment, encoding: "utf8" };
        assert.equal(execFileSync(process.execPath, [name], options), "", name);
        assert.deepEqual(await workspace.kpis(), { k: 1 }, name);
    }
    const installed = join(project, "node_modules/muster");
    const { exports, dependencies } = JSON.parse(readFileSync(join(installed, "package.json")));
    assert.equal(dependencies, undefined);
    for (const { types } of Object.values(exports["."])) assert.ok(existsSync(join(installed, types)));
});
