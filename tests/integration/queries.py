"""Every statement of the program, read from its source: each is a static struct db_query."""

import ast
import functools
import pathlib
import re
import subprocess
from dataclasses import dataclass

SRC = pathlib.Path(__file__).parents[2] / "src"
DEFINED = re.compile(
    r"const struct db_query|^DB_(?:ROWS_)?QUERY\(|^(?:DB_RUN|DB_INT|DB_CHANGED|ROWS_LIST|ROWS_ONE)_FN\(", re.MULTILINE
)
BEGIN = re.compile(r"const struct (?:db_query|sealed_table) (\w+)(\[[^\]]*\])*\s*=\s*\{")
MEMBER = re.compile(r'\.(sql|postgres|sqlite|citus)\s*=\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
KEEPS = re.compile(r"\.keeps_plan\s*=\s*(?:1|true)\b")
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
LITERAL_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]')

EMBEDDED = ("sqlite", "/ids/")  # files whose statements only SQLite runs
OF_CITUS = ("features/cluster/", "db/distribution.c")  # those that ask Citus' own tables
TABLE_OF_CITUS = "pg_catalog.pg_dist_"  # as single statements of other files do


@dataclass(frozen=True)
class Query:
    place: str  # file and name
    text: str  # as PostgreSQL gets it
    citus: str  # the same where tenants are distributed
    keeps: bool  # its plan is not made for each use


def _initialiser(source, at):
    """What stands between the brace before `at` and the one that closes it, cut at inner braces:
    each part has the members of one query."""
    depth, parts, begin = 1, [], at
    for match in LITERAL_OR_BRACE.finditer(source, at):
        if match.group() not in "{}":
            continue
        parts.append(source[begin : match.start()])
        begin = match.end()
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return parts
    raise AssertionError("an initialiser has no end")


def _of_file(path):
    source = subprocess.run(
        ["cc", "-E", "-P", "-std=gnu17", f"-I{SRC}", "-I/usr/include/postgresql", str(path)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for begin in BEGIN.finditer(source):
        number = 0
        for part in _initialiser(source, begin.end()):
            members = {
                name: "".join(ast.literal_eval(text) for text in LITERAL.findall(literals))
                for name, literals in MEMBER.findall(part)
            }
            text = members.get("postgres", members.get("sql"))
            if text is not None:
                name = f"{begin.group(1)}[{number}]" if begin.group(2) else begin.group(1)
                citus = members.get("citus", text)
                yield Query(f"{path.relative_to(SRC)}:{name}", text, citus, bool(KEEPS.search(part)))
            number += bool(members)


@functools.cache
def queries():
    """Those that PostgreSQL runs."""
    files = [p for p in sorted(SRC.rglob("*.c")) if DEFINED.search(p.read_text())]
    shared = [p for p in files if not any(part in str(p) for part in EMBEDDED + OF_CITUS)]
    found = [query for path in shared for query in _of_file(path)]
    return [query for query in found if TABLE_OF_CITUS not in query.text]
