"""The program of the version before: of the newest tag, or else as it was before the last migration.

It is built from the history of this repository into build/before and kept there: the next run takes it
as it is. As a command it prints the commit of that version, or nothing without the history; with `build`
as its argument it also builds it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build/before"


def _git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def last_migration(folder=ROOT / "migrations"):
    return max(int(path.name[:4]) for path in folder.glob("*.sql"))


def migrations():
    """Those of PostgreSQL in their order: (name, text) by number."""
    found = {}
    for path in sorted((ROOT / "migrations").glob("*.sql")):
        number, name, own = int(path.name[:4]), path.name[5:].split(".")[0], ".postgres." in path.name
        if own or number not in found:
            found[number] = (name, path.read_text(encoding="utf-8"))
    return found


def revision_before():
    """Of the version before; empty if the history is not here."""
    tag = _git("describe", "--tags", "--abbrev=0", "HEAD^")
    if tag:
        return _git("rev-parse", f"{tag}^{{commit}}")
    newest = sorted(path.name for path in (ROOT / "migrations").glob("*.sql"))[-1]
    added = _git("log", "-1", "--format=%H", "--diff-filter=A", "--", f"migrations/{newest}")
    return _git("rev-parse", f"{added}^") if added else _git("rev-parse", "HEAD")


def _compile(revision, to):
    with tempfile.TemporaryDirectory(prefix="muster-before-") as folder:
        packed = subprocess.Popen(["git", "-C", ROOT, "archive", revision], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], stdin=packed.stdout, check=True)
        assert packed.wait() == 0
        flags = ["-DMUSTER_TESTS=OFF", "-DMUSTER_PORTAL=OFF"]
        for step in (["cmake", "--preset", "dev", *flags],
                     ["cmake", "--build", "--preset", "dev", "--target", "muster"]):  # fmt: skip
            done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        to.mkdir(parents=True)
        shutil.copy(Path(folder) / "build/dev/muster", to / "muster.new")
        number = last_migration(Path(folder) / "migrations")
        (to / "migrations").write_text(str(number))
        os.rename(to / "muster.new", to / "muster")


def program_before():
    """(program, number of its last migration), or None without the history to make it of."""
    revision = revision_before()
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        return None
    folder = CACHE / revision
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as lock:  # tests that run side by side build it once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "muster").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _compile(revision, folder)
    return folder / "muster", int((folder / "migrations").read_text())


if __name__ == "__main__":
    print(revision_before())
    if sys.argv[1:] == ["build"]:
        program_before()
