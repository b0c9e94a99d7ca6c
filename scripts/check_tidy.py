#!/usr/bin/python3
"""clang-tidy 19 finds nothing in src/.

A clean file is remembered in build/tidy-cache under a digest of all that can change the verdict:
its text, every header of ours that it reaches, how it is compiled, .clang-tidy and clang-tidy. Where
the repository lies has no part in it: the folder serves a copy of the repository too.
"""

import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from gate import run

BUILDS = ("build/asan", "build/dev")
TOGETHER = 8  # files for one process, whose start takes as long as to read one
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def compile_commands(root):
    """The commands of the first build directory that has been configured, by file."""
    for build in BUILDS:
        path = root / build / "compile_commands.json"
        if path.exists():
            rows = json.loads(path.read_text())
            return root / build, {row["file"]: row["command"] for row in rows}
    return None, {}


def reached(root, path, seen):
    """`path` and every header of src/ that it includes, directly or not."""
    if path in seen or not path.exists():
        return seen
    seen.add(path)
    for header in INCLUDE.findall(path.read_text()):
        reached(root, root / "src" / header, seen)
    return seen


def digest_of(root, path, command, version):
    digest = hashlib.sha256()
    command = command.replace(str(root), ".")
    for part in (version, command, (root / ".clang-tidy").read_text()):
        digest.update(part.encode() + b"\0")
    for source in sorted(reached(root, path, set())):
        digest.update(f"{source.relative_to(root)}\0".encode() + source.read_bytes() + b"\0")
    return digest.hexdigest()


def tidy(build, *paths):
    return subprocess.run(
        ["clang-tidy-19", "-p", build, "--quiet", *paths],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def findings(root, build, path):
    """In one file."""
    done = tidy(build, path)
    if done.returncode == 0:
        return []
    lines = [line for line in done.stdout.splitlines() if re.search(r": (warning|error):", line)]
    return [line.replace(f"{root}/", "") for line in lines] or [
        f"{path.relative_to(root)}: clang-tidy failed: {done.stderr.strip()}"
    ]


def findings_in(root, build, paths):
    """By file; together, and each alone when anything is found."""
    if tidy(build, *paths).returncode == 0:
        return [(path, []) for path in paths]
    return [(path, findings(root, build, path)) for path in paths]


def gate(root):
    build, commands = compile_commands(root)
    if build is None:
        return [f"no compile_commands.json in {' or '.join(BUILDS)}: run cmake --preset asan"], ""
    sources = sorted((root / "src").rglob("*.c"), key=lambda path: -path.stat().st_size)
    if not sources:
        return ["src/: no files to look at"], ""
    problems = [
        f"{path.relative_to(root)}: not built by {build.name}: clang-tidy cannot see it"
        for path in sources
        if str(path) not in commands
    ]
    version = subprocess.check_output(["clang-tidy-19", "--version"], text=True)
    cache = root / "build" / "tidy-cache"
    cache.mkdir(parents=True, exist_ok=True)
    clean = {
        path: cache / digest_of(root, path, commands[str(path)], version)
        for path in sources
        if str(path) in commands
    }
    unread = [path for path, mark in clean.items() if not mark.exists()]
    count = -(-len(unread) // TOGETHER)
    parts = [unread[first::count] for first in range(count)]  # long and short ones in each
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(lambda paths: findings_in(root, build, paths), parts):
            for path, found in part:
                problems += found
                if not found:
                    clean[path].touch()
    for mark in cache.iterdir():  # verdicts on texts that are gone
        if mark not in clean.values():
            mark.unlink()
    unique = list(dict.fromkeys(problems))  # a header's finding comes with every file above it
    return unique, f"{len(sources)} files, {len(unread)} of them checked again"


if __name__ == "__main__":
    run("tidy", gate)
