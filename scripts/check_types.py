#!/usr/bin/python3
"""The portal is correct TypeScript against the types of docs/openapi.json, and the Node.js library
for agents is correct TypeScript by itself."""

import shutil
import subprocess

from gate import run


def gate(root):
    web = root / "web"
    if not (web / "package.json").exists():
        return ["web/package.json: missing"], ""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return [], "not looked at: Node.js is missing"
    library = root / "sdk/typescript"
    for command in (
        [root / "scripts/npm_ci", web],
        ["node", web / "scripts/types.mjs"],
        [web / "node_modules/.bin/tsc", "-p", web, "--pretty", "false"],
        [root / "scripts/npm_ci", library],
        [library / "node_modules/.bin/tsc", "-p", library, "--noEmit", "--pretty", "false"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return (done.stdout + done.stderr).strip().splitlines(), ""
    return [], "tsc has nothing to say"


if __name__ == "__main__":
    run("types", gate)
