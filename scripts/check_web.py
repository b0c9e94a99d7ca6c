#!/usr/bin/python3
"""The portal shows what agents send as text, contacts no other host, imports only downwards, and
pins its packages."""

import json
import posixpath
import re

from gate import files_in, line_at, run

PACKAGES = ("web", "tests/browser", "tests/clients", "tests/oidc", "sdk/typescript")
LIBRARIES = ("sdk/typescript",)  # what agents install

# Pattern in web/src, what is wrong with it.
BANNED = [
    (r"dangerouslySetInnerHTML", "agents' text is never markup"),
    (r"\b(?:inner|outer)HTML\b|insertAdjacentHTML|createContextualFragment|DOMParser",
     "agents' text is never markup"),
    (r"document\.write|\beval\s*\(|\bnew Function\b", "the content policy forbids it"),
    (r"https?://(?!www\.w3\.org/2000/svg)[\w.-]+\.\w", "no request goes to another host"),
    (r"<style|<script(?![^>]*\bsrc=)|\son\w+=\"", "the content policy forbids inline code"),
    (r"@import|url\(", "the stylesheet is one file"),
]  # fmt: skip
SOURCES = {".ts", ".tsx", ".css", ".html", ".svg"}

# The folders of web/src, lowest first: an import points to the same folder or down.
LAYERS = ["lib", "ui", "features", "pages", "app"]

# The folders of web/src/features, and the features that each may import.
FEATURES = {
    "access": set(),
    "agents": set(),
    "alerts": {"agents"},
    "audit": set(),
    "cost": {"access"},
    "events": set(),
    "export": set(),
    "fleet": {"access", "agents", "events"},
    "kpis": set(),
    "oidc": {"access"},
    "overview": {"agents", "alerts", "kpis"},
    "retention": set(),
    "status": set(),
    "vault": set(),
    "webhooks": set(),
}

IMPORT = re.compile(r'(?:\bfrom\s+|\bimport\s+|\bimport\()"(\.[^"]*)"')


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


def import_problem(source, target):
    """Why the file `source` may not import `target`, both as paths below web/src; else None."""
    layer, *rest = source.split("/")
    other, *other_rest = target.split("/")
    if other not in LAYERS:
        return f"{target} is in no layer"
    if LAYERS.index(other) > LAYERS.index(layer):
        return f"{layer} is below {other}: an import may only point down"
    if layer == other == "features":
        feature, used = rest[0], other_rest[0]
        if used != feature and used not in FEATURES[feature]:
            return f"features/{feature} may not import features/{used}: see FEATURES"
    if layer == other == "pages":
        return "a page does not import another: share by a feature"
    return None


def layer_problems(root):
    web = root / "web/src"
    for path in files_in(root, ["web/src"], {".ts", ".tsx"}):
        name = path.relative_to(web).as_posix()
        layer, *rest = name.split("/")
        if layer not in LAYERS or not rest:
            yield f"web/src/{name}: in no layer: {', '.join(LAYERS)}"
            continue
        if layer == "features" and rest[0] not in FEATURES:
            yield f"web/src/{name}: {rest[0]} is not in the table of features"
            continue
        text = path.read_text()
        for match in IMPORT.finditer(text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[1]))
            problem = None if target.startswith("style/") else import_problem(name, target)
            if problem:
                yield f"web/src/{name}:{line_at(text, match.start())}: {problem}"


def package_problems(root, folder):
    lock, package = (root / folder / name for name in ("package-lock.json", "package.json"))
    if not lock.exists() or not package.exists():
        yield f"{folder}: package.json or package-lock.json is missing"
        return
    wanted = json.loads(package.read_text())
    for kind in ("dependencies", "devDependencies"):
        for name, version in wanted.get(kind, {}).items():
            if not re.fullmatch(r"\d+\.\d+\.\d+", version):
                yield f"{folder}/package.json: {name} {version}: pin the exact version"
    if folder in LIBRARIES and wanted.get("dependencies"):
        yield f"{folder}/package.json: a library for agents has no dependencies"
    for name, entry in json.loads(lock.read_text()).get("packages", {}).items():
        if "resolved" in entry:
            yield f"{folder}/package-lock.json: {name} has a download address: see {folder}/.npmrc"
        if name and not entry.get("integrity", "").startswith("sha512-"):
            yield f"{folder}/package-lock.json: {name} has no digest"


def gate(root):
    problems = [*source_problems(root), *layer_problems(root)]
    for folder in PACKAGES:
        problems += package_problems(root, folder)
    files = len(files_in(root, ["web/src"], SOURCES))
    return problems, f"{files} files import only downwards, {len(BANNED)} rules"


if __name__ == "__main__":
    run("web", gate)
