"""A PostgreSQL with Citus: an installed one, or one built from the source archive of a release.

Debian has no package of Citus. If it is not installed, CITUS_SOURCE names an archive of its
source (citus-13.2.2.tar.xz, say). The build goes into a copy of PostgreSQL's own folders under
build/citus, so that nothing is installed into the system; PostgreSQL finds its files relative to its
programs. The copy is kept: the next run takes it as it is.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build/citus"

# PostgreSQL 15.19 and newer have a function of a name that Citus gives to one of its own.
RENAMED = {
    "src/include/pg_version_compat.h": (
        (r"#define have_createdb_privilege\(\)", "#define citus_have_createdb_privilege()"),
        (r"(?m)^have_createdb_privilege\(void\)", "citus_have_createdb_privilege(void)"),
    ),
    "src/backend/distributed/commands/serialize_distributed_ddls.c": (
        (r"!have_createdb_privilege\(\)", "!citus_have_createdb_privilege()"),
    ),
}


class NoCitusError(Exception):
    """Says what to do."""


class AbsentCitusError(NoCitusError):
    """It is neither installed nor is its source given."""


def _config(bin_folder, what):
    program = Path(bin_folder) / "pg_config"
    if not program.exists():
        raise NoCitusError(f"{program} is missing: scripts/bootstrap cluster installs it")
    done = subprocess.run([program, f"--{what}"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _rename(source):
    for name, changes in RENAMED.items():
        path = source / name
        text = path.read_text(encoding="utf-8")
        for pattern, by in changes:
            text = re.sub(pattern, by, text)
        path.write_text(text, encoding="utf-8")


def _compile(archive, bin_folder, root):
    """Installs Citus below `root`, as if that were the root of the file system."""
    with tempfile.TemporaryDirectory(prefix="muster-citus-") as folder:
        subprocess.run(["tar", "-x", "-f", archive, "-C", folder], check=True)
        source = next(path for path in Path(folder).iterdir() if path.is_dir())
        _rename(source)
        steps = (
            ["./configure", "--without-libcurl", f"PG_CONFIG={bin_folder}/pg_config"],
            ["make", f"-j{os.cpu_count()}", "extension", "with_llvm=no"],
            ["make", "install-extension", "with_llvm=no", f"DESTDIR={root}"],
        )
        for step in steps:
            done = subprocess.run(
                step, cwd=source, check=False, text=True, errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            if done.returncode != 0:
                raise NoCitusError(f"{' '.join(step)} failed:\n{done.stdout[-4000:]}")


def _build(archive, bin_folder, root):
    root.mkdir(parents=True)
    for what in ("bindir", "pkglibdir", "sharedir"):
        folder = _config(bin_folder, what)
        shutil.copytree(folder, f"{root}{folder}", symlinks=False, dirs_exist_ok=True)
    _compile(archive, bin_folder, root)


def citus_bin(bin_folder):
    """The folder of the programs of a PostgreSQL that has Citus; `bin_folder` is the system's."""
    if Path(_config(bin_folder, "sharedir"), "extension/citus.control").exists():
        return bin_folder
    named = os.environ.get("CITUS_SOURCE")
    if not named:
        raise AbsentCitusError(
            "Citus is not installed: install it by its own instructions, or let"
            " CITUS_SOURCE name an archive of its source"
        )
    version = _config(bin_folder, "version")
    digest = hashlib.sha256(Path(named).read_bytes() + version.encode()).hexdigest()[:16]
    root = CACHE / digest
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            print("citus: building it, which takes a minute or two", file=sys.stderr, flush=True)
            new = CACHE / f"{digest}.new"
            shutil.rmtree(new, ignore_errors=True)
            _build(named, bin_folder, new)
            new.rename(root)
    return f"{root}{bin_folder}"
