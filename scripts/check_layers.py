#!/usr/bin/python3
"""The house of src/ is as docs/ARCHITECTURE.md draws it.

Its two tables are read here, so that there is no second description: the machinery, lowest first,
with the libraries that each folder may include; and the features, with what each uses and which of
its headers others may include. Red on an include that points up or sideways, that reaches into a
feature by a private header or without a row that allows it, on features that use each other in a
circle, on headers that include each other in a circle, on more nouns of a room that do than there were, on a
room with more than eight public headers or with a store among them, on a crowded folder, and on SQL in a
file that is no store and is not named there as one that has some.
"""

import re
from fnmatch import fnmatch

from gate import files_in, line_at, run

C_FILES_MAX = 40  # in one folder
PUBLIC_MAX = 8  # headers of one room
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)
CODE = re.compile(r"`([^`]+)`")
SQL = re.compile(r'\bDB_(?:ROWS_)?QUERY\s*\(|\bDB_(?:RUN|INT|CHANGED)_FN\s*\(|\.(?:sql|sqlite|postgres)\s*=\s*[A-Z_]*\s*"')

# A library's header, and the word by which the machinery table names it. Libraries that the table
# gives to no folder stay out of src/.
LIBRARIES = [
    (r"sqlite3\.h", "sqlite3"),
    (r"libpq-fe\.h|libpq/.*|postgres.*", "libpq"),
    (r"uv\.h|uv/.*", "libuv"),
    (r"llhttp\.h", "llhttp"),
    (r"openssl/.*", "OpenSSL"),
    (r"yyjson\.h", "yyjson"),
    (r"zlib\.h", "zlib"),
    (r"sodium\.h|sodium/.*", "libsodium"),
    (r"curl/.*", "libcurl"),
    (r"cmocka\.h", "cmocka"),
]


def table_rows(text, heading):
    """The cells of the first Markdown table after the heading, without its two head lines."""
    _, found, rest = text.partition(f"\n## {heading}\n")
    lines = [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]] if found else []


class House:
    def __init__(self, root):
        page = root / "docs/ARCHITECTURE.md"
        text = page.read_text() if page.exists() else ""
        machinery = table_rows(text, "Machinery")
        self.folders = [CODE.findall(row[0])[0] for row in machinery]
        self.rank = {name: i for i, name in enumerate(self.folders)}
        self.libraries = {CODE.findall(row[0])[0]: set(CODE.findall(row[2])) for row in machinery}
        self.uses, self.public, self.feature_libraries = {}, {}, {}
        for row in table_rows(text, "Features"):
            name = CODE.findall(row[0])[0]
            named = CODE.findall(row[2])
            libraries = {library for _, library in LIBRARIES}
            self.uses[name] = set(named) - libraries
            self.feature_libraries[name] = set(named) & libraries
            self.public[name] = set(CODE.findall(row[3]))

    def problems(self):
        problems = []
        if not self.folders or not self.uses:
            return ["docs/ARCHITECTURE.md: the tables of machinery and features are missing"]
        for name, used in self.uses.items():
            for other in used - set(self.uses):
                problems.append(f"docs/ARCHITECTURE.md: {name} uses {other}, which is no feature")
        done = set()
        while len(done) < len(self.uses):
            ready = [name for name in self.uses if name not in done and self.uses[name] <= done]
            if not ready:
                circle = ", ".join(sorted(set(self.uses) - done))
                return [*problems, f"docs/ARCHITECTURE.md: features use each other in a circle: {circle}"]
            done.update(ready)
        return problems


def room_of(path):
    """("features", "access") or ("base", None), of a path from src/."""
    parts = path.split("/")
    return ("features", parts[1]) if parts[0] == "features" and len(parts) > 2 else (parts[0], None)


def feature_problem(house, feature, header):
    target = header.split("/")[1]
    if header in ("features/features.h", "features/metrics.h") or target == feature:
        return None
    if target not in house.uses.get(feature, set()):
        return f"{feature} does not use {target}: the table in docs/ARCHITECTURE.md has no such edge"
    if header.removeprefix(f"features/{target}/") not in house.public[target]:
        return f'"{header}" is private to {target}'
    return None


def own_problem(house, path, header):
    folder, feature = room_of(path)
    target, _ = room_of(header)
    if "/" not in header or target not in (*house.rank, "features", "app"):
        return f'"{header}" names no folder of src/: write it from src/, as in "base/str.h"'
    if folder == "app":
        return None
    if target == "app":
        return f"{folder} is below app: an include may only point down"
    if folder == "features":
        return feature_problem(house, feature, header) if target == "features" else None
    if target == "features":
        return f"{folder} is machinery: it includes no feature"
    if folder in house.rank and house.rank[target] > house.rank[folder]:
        return f"{folder} is below {target}: an include may only point down"
    return None


def library_problem(house, path, header):
    folder, feature = room_of(path)
    allowed = house.feature_libraries.get(feature, set()) if feature else house.libraries.get(folder)
    for pattern, name in LIBRARIES:
        if re.fullmatch(pattern, header) and allowed is not None and name not in allowed:
            return f"<{header}>: the table in docs/ARCHITECTURE.md does not give {name} to {feature or folder}"
    return None


def circles(includes):
    """A problem for each header from which includes lead back to it."""
    state, problems = {}, []

    def visit(path, way):
        state[path] = "open"
        for header in includes.get(path, ()):
            if state.get(header) == "open":
                circle = [*way[way.index(header):], header] if header in way else [path, header]
                problems.append(f"src/{header}: included in a circle: {' -> '.join(circle)}")
            elif header in includes and header not in state:
                visit(header, [*way, header])
        state[path] = "done"

    for path in sorted(includes):
        if path not in state:
            visit(path, [path])
    return problems


def rings(edges):
    """Sets of nodes that lead to each other (Tarjan)."""
    number, lowest, path, found = {}, {}, [], []

    def visit(node):
        number[node] = lowest[node] = len(number)
        path.append(node)
        for following in sorted(edges.get(node, ())):
            if following not in number:
                visit(following)
            if following in path:
                lowest[node] = min(lowest[node], lowest[following])
        if lowest[node] == number[node]:
            at = path.index(node)
            found.append(path[at:])
            del path[at:]

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return [ring for ring in found if len(ring) > 1]


def room_rings(includes):
    """A problem for each set of nouns of a room, a .c and its .h, that include each other in a circle."""
    edges = {}
    for path, headers in includes.items():
        noun = path.rpartition(".")[0]
        others = {header.rpartition(".")[0] for header in headers if room_of(header) == room_of(path)}
        edges.setdefault(noun, set()).update(others - {noun})
    return [f"src/: include each other in a circle: {', '.join(sorted(ring))}" for ring in rings(edges)]


def public_problems(house):
    for room, headers in house.public.items():
        if len(headers) > PUBLIC_MAX:
            yield f"docs/ARCHITECTURE.md: {room} has {len(headers)} public headers, {PUBLIC_MAX} are allowed"
        for header in sorted(headers):
            if header.endswith("store.h"):
                yield f"docs/ARCHITECTURE.md: {room}/{header} is a store: offer functions, its SQL is {room}'s own"


def crowded(files, root):
    count = {}
    for path in files:
        if path.suffix == ".c":
            folder = path.parent.relative_to(root)
            count[folder] = count.get(folder, 0) + 1
    return [
        f"{folder}: {n} .c files, and no more than {C_FILES_MAX} find room in a folder"
        for folder, n in sorted(count.items())
        if n > C_FILES_MAX
    ]


def sql_problems(root, files):
    """Files with SQL that are no stores: the page names them, from src/features/ or src/, and no others."""
    page = (root / "docs/ARCHITECTURE.md").read_text()
    named = CODE.findall(page.partition("\nBesides the store files")[2].partition("\n\n")[0])
    sources = [path for path in files if path.suffix == ".c" and SQL.search(path.read_text())]
    found = [path.relative_to(root / "src").as_posix() for path in sources]
    found = [path.removeprefix("features/") for path in found if not path.endswith(("/store.c", "_store.c"))]
    for path in found:
        if not any(fnmatch(path, name) for name in named):
            yield f"{path}: SQL belongs into a store file; docs/ARCHITECTURE.md does not name this one"
    for name in named:
        if not any(fnmatch(path, name) for path in found):
            yield f"docs/ARCHITECTURE.md: no SQL in {name}"


def strangers(house, files, root):
    """Folders of the tree that no table has, and rows of tables that no folder has."""
    seen = {room_of(str(path.relative_to(root / "src"))) for path in files}
    wanted = {(name, None) for name in house.folders} | {("features", name) for name in house.uses}
    own = {("app", None), ("features", None)}
    return [
        f"src/{'/'.join(filter(None, room))}: no row in the tables of docs/ARCHITECTURE.md"
        for room in sorted(seen - wanted - own, key=str)
    ] + [
        f"docs/ARCHITECTURE.md: src/{'/'.join(filter(None, room))} is not there"
        for room in sorted(wanted - seen, key=str)
    ]


def gate(root):
    files = files_in(root, ["src"], {".c", ".h"})
    if not files:
        return ["src/: no files to look at"], ""
    house = House(root)
    problems = house.problems()
    if not house.folders or not house.uses:
        return problems, ""
    problems += strangers(house, files, root) + crowded(files, root) + [*sql_problems(root, files)]
    includes = {}
    for path in files:
        where = str(path.relative_to(root / "src"))
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            own, library = match.groups()
            includes.setdefault(where, []).extend([own] if own else [])
            problem = own_problem(house, where, own) if own else library_problem(house, where, library)
            if problem:
                problems.append(f"src/{where}:{line_at(text, match.start())}: {problem}")
    problems += circles(includes) + room_rings(includes) + [*public_problems(house)]
    edges = sum(len(used) for used in house.uses.values())
    return problems, f"{len(files)} files, {len(house.uses)} features, {edges} edges between them"


if __name__ == "__main__":
    run("layers", gate)
