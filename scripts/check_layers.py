#!/usr/bin/python3
"""Includes in src/ only point down, and a library's header stays in the layer that owns it."""

import re

from gate import files_in, line_at, run

# Folders of one row are siblings: they may not see each other.
LAYERS = [
    ["base"],
    ["contract", "db", "http"],
    ["store"],
    ["service"],
    ["api"],
    ["app"],
]
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}

# A library's header, and the layers that may include it.
LIBRARIES = [
    (r"sqlite3\.h", {"db"}),
    (r"libpq-fe\.h|libpq/.*|postgres.*", {"db"}),
    (r"uv\.h|uv/.*", {"http"}),
    (r"llhttp\.h", {"http"}),
    (r"openssl/.*", {"http"}),
    (r"yyjson\.h", {"contract"}),
    (r"zlib\.h", {"base", "http"}),  # base: CRC-32 of tokens; http: gzip bodies
    (r"sodium\.h|sodium/.*", {"base", "service"}),  # service: the vault and passwords
    (r"curl/.*", {"service", "app"}),  # webhooks; the CLI speaking to a running server
    (r"cmocka\.h", set()),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


def own_problem(layer, header):
    target = header.split("/")[0]
    if target not in RANK or "/" not in header:
        return f'"{header}" names no layer: write it from src/, as in "base/str.h"'
    if target != layer and RANK[target] == RANK[layer]:
        return f"{layer} and {target} are siblings: neither includes the other"
    if RANK[target] > RANK[layer]:
        return f"{layer} is below {target}: an include may only point down"
    return None


def library_problem(layer, header):
    for pattern, allowed in LIBRARIES:
        if re.fullmatch(pattern, header) and layer not in allowed:
            where = ", ".join(sorted(allowed)) or "tests"
            return f"<{header}> belongs to {where}, not to {layer}"
    return None


def gate(root):
    files = files_in(root, ["src"], {".c", ".h"})
    problems = [] if files else ["src/: no files to look at"]
    for path in files:
        where = path.relative_to(root)
        layer = where.parts[1]
        if layer not in RANK:
            problems.append(f"{where}: src/{layer} is no layer of docs/ARCHITECTURE.md")
            continue
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            own, library = match.groups()
            problem = own_problem(layer, own) if own else library_problem(layer, library)
            if problem:
                problems.append(f"{where}:{line_at(text, match.start())}: {problem}")
    return problems, f"{len(files)} files include only downwards"


if __name__ == "__main__":
    run("layers", gate)
