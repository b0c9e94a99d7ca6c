"""The program of the version before: of the newest release that this commit follows.

It is built from the history of this repository into build/before and kept there: the next run takes it
as it is. As a command it prints the commit of that version, or nothing without one; with `build`
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


def next_migration():
    """The last of muster_next."""
    return last_migration() + last_migration(ROOT / "tests/hooks/next")


def revision_before():
    """Of the release before; empty if there is none, or the history is not here."""
    tag = _git("describe", "--tags", "--match", "v*", "--abbrev=0", "HEAD^")
    return _git("rev-parse", f"{tag}^{{commit}}") if tag else ""


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
        os.rename(to / "muster.new", to / "muster")


def program_before():
    """None without a release before, or the history to make it of."""
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
    return folder / "muster"


if __name__ == "__main__":
    print(revision_before())
    if sys.argv[1:] == ["build"]:
        program_before()
