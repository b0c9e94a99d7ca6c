#!/usr/bin/python3
"""Builds the libraries for agents: a Python wheel and an npm tarball, and dist/, which is in the latter.

    scripts/build_sdk.py [FOLDER]    into build/sdk, unless another folder is given

Both are written here, with the standard library alone; the same sources give the same bytes. The
tarball needs Node.js and the packages that bundle the portal, those of web/package-lock.json.
"""

import base64
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON, NODE = ROOT / "sdk/python", ROOT / "sdk/typescript"
LONG_AGO = (1980, 1, 1, 0, 0, 0)

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


def wheel(output):
    """Writes the wheel and returns its path."""
    full = f"{setting('name')}-{setting('version')}"
    info = f"{full}.dist-info"
    package = sorted((PYTHON / "muster").rglob("*.py")) + [PYTHON / "muster/py.typed"]
    files = {str(path.relative_to(PYTHON)): path.read_bytes() for path in package}
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    rows = [f"{name},{digest(data)},{len(data)}\n" for name, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    path = output / f"{full}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return path


def digest(data):
    encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={encoded.decode()}"


def tarball(output):
    """Builds dist/, packs it as `npm pack` does and returns the path of the tarball."""
    dist = output / "dist"
    for command in ([ROOT / "scripts/npm_ci", ROOT / "web"], ["node", NODE / "build.mjs", dist]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
    files = {path.relative_to(output): path for path in sorted(dist.rglob("*")) if path.is_file()}
    files |= {name: NODE / name for name in ("package.json", "README.md")}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = path.stat().st_size
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
    path = output / f"{setting('name')}-{setting('version')}.tgz"  # a test compares with package.json
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return path


def main():
    output = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/sdk").resolve()
    output.mkdir(parents=True, exist_ok=True)
    for old in [*output.glob("*.whl"), *output.glob("*.tgz")]:
        old.unlink()
    for built in (wheel(output), tarball(output)):
        print(built.relative_to(ROOT) if built.is_relative_to(ROOT) else built)


if __name__ == "__main__":
    main()
