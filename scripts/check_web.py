#!/usr/bin/python3
"""The portal shows what agents send as text, asks no other host, and its packages are pinned."""

import json
import re

from gate import files_in, line_at, run

PACKAGES = ("web", "tests/browser")

# Pattern in web/src, what is wrong with it.
BANNED = [
    (r"dangerouslySetInnerHTML", "agents' text is never markup"),
    (r"\b(?:inner|outer)HTML\b|insertAdjacentHTML|createContextualFragment|DOMParser",
     "agents' text is never markup"),
    (r"document\.write|\beval\s*\(|\bnew Function\b", "the content policy forbids it"),
    (r"https?://(?!www\.w3\.org/2000/svg)[\w.-]+\.\w", "no request goes to another host"),
    (r"<style|<script(?![^>]*\bsrc=)|\son\w+=\"", "the content policy forbids what is inline"),
    (r"@import|url\(", "the stylesheet is one file"),
]  # fmt: skip
SOURCES = {".ts", ".tsx", ".css", ".html", ".svg"}


def source_problems(root):
    files = files_in(root, ["web/src"], SOURCES)
    if not files:
        yield "web/src: no files to look at"
    for path in files:
        text = path.read_text()
        for pattern, why in BANNED:
            for match in re.finditer(pattern, text):
                where = f"{path.relative_to(root)}:{line_at(text, match.start())}"
                yield f"{where}: '{match.group().strip()}': {why}"


def package_problems(root, folder):
    lock, package = (root / folder / name for name in ("package-lock.json", "package.json"))
    if not lock.exists() or not package.exists():
        yield f"{folder}: package.json or package-lock.json is missing"
        return
    wanted = json.loads(package.read_text())
    for kind in ("dependencies", "devDependencies"):
        for name, version in wanted.get(kind, {}).items():
            if not re.fullmatch(r"\d+\.\d+\.\d+", version):
                yield f"{folder}/package.json: {name} {version}: say the exact version"
    for name, entry in json.loads(lock.read_text()).get("packages", {}).items():
        if "resolved" in entry:
            yield f"{folder}/package-lock.json: {name} has a download address: see .npmrc there"
        if name and not entry.get("integrity", "").startswith("sha512-"):
            yield f"{folder}/package-lock.json: {name} has no digest"


def gate(root):
    problems = list(source_problems(root))
    for folder in PACKAGES:
        problems += package_problems(root, folder)
    return problems, f"{len(files_in(root, ['web/src'], SOURCES))} files, {len(BANNED)} rules"


if __name__ == "__main__":
    run("web", gate)
