#!/usr/bin/python3
"""docs/openapi.json is what the program prints about itself."""

import os
import subprocess
from pathlib import Path

from gate import run


def gate(root):
    binary = Path(os.environ.get("MUSTER_TEST_BINARY", root / "build/release/muster"))
    document = root / "docs/openapi.json"
    if not binary.exists():
        return [f"{binary}: not built: run make build"], ""
    if not document.exists():
        return ["docs/openapi.json: missing: build/release/muster openapi >docs/openapi.json"], ""
    done = subprocess.run([binary, "openapi"], capture_output=True, check=False)
    if done.returncode != 0:
        return [f"muster openapi failed: {done.stderr.decode(errors='replace').strip()}"], ""
    if done.stdout != document.read_bytes():
        return ["docs/openapi.json: stale: build/release/muster openapi >docs/openapi.json"], ""
    return [], f"{len(done.stdout)} bytes"


if __name__ == "__main__":
    run("openapi", gate)
