#!/usr/bin/python3
"""Builds the libraries for agents into build/sdk: a Python wheel and an npm tarball.

The wheel is written here, with the standard library alone. The tarball needs Node.js and the
packages of sdk/typescript/package-lock.json.
"""

import base64
import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON, NODE, OUTPUT = ROOT / "sdk/python", ROOT / "sdk/typescript", ROOT / "build/sdk"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same input gives the same bytes

WHEEL = "Wheel-Version: 1.0\nGenerator: build_sdk\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def setting(name):
    """A string of the table [project] of pyproject.toml, which Python 3.9 cannot read by itself."""
    found = re.search(rf'^{name} = "(.*)"$', (PYTHON / "pyproject.toml").read_text(), re.M)
    return found.group(1)


def metadata():
    fields = {
        "Metadata-Version": "2.1",
        "Name": setting("name"),
        "Version": setting("version"),
        "Summary": setting("description"),
        "Requires-Python": setting("requires-python"),
        "Description-Content-Type": "text/markdown",
    }
    head = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return head + "\n" + (PYTHON / "README.md").read_text()


def wheel():
    """Writes the wheel and returns its path."""
    full = f"{setting('name')}-{setting('version')}"
    info = f"{full}.dist-info"
    package = sorted((PYTHON / "muster").rglob("*.py")) + [PYTHON / "muster/py.typed"]
    files = {str(path.relative_to(PYTHON)): path.read_bytes() for path in package}
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    rows = [f"{name},{digest(data)},{len(data)}\n" for name, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    path = OUTPUT / f"{full}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return path


def digest(data):
    encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={encoded.decode()}"


def tarball():
    """Builds sdk/typescript/dist, packs it and returns the path of the tarball."""
    for command in (
        [ROOT / "scripts/npm_ci", NODE],
        ["node", NODE / "build.mjs"],
        ["npm", "pack", "--silent", "--pack-destination", OUTPUT],
    ):
        done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
    return OUTPUT / done.stdout.split()[-1]


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for old in OUTPUT.iterdir():
        old.unlink()
    for built in (wheel(), tarball()):
        print(built.relative_to(ROOT))


if __name__ == "__main__":
    main()
