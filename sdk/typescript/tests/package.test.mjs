// The package as users install it: from their service, without a registry, in both kinds of module.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { VERSION } from "../../../build/sdk/dist/esm/index.js";
import { Service, folder } from "./service.mjs";

const USES = `const agent = new Agent("installed", { log: (text) => console.log(text) });
agent.run((run) => run.kpi("k", 1));\n`;
const service = new Service();
before(() => service.start());

test("the service's tarball installs with npm and reports from ES modules and CommonJS", async () => {
    const project = folder();
    const tarball = `${service.url}/sdk/muster-${VERSION}.tgz`;
    const nothingElse = ["--no-audit", "--no-fund", "--registry", "http://127.0.0.1:9/"];
    writeFileSync(join(project, "package.json"), '{ "private": true }\n');
    execFileSync("npm", ["install", tarball, ...nothingElse, "--cache", folder()], { cwd: project });
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
