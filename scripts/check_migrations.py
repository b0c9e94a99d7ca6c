#!/usr/bin/python3
"""Migrations that nodes of the version before survive: they only add, or say which programs cannot use the result.

A node of the version before works on while a migration runs, and may start again afterwards. So each
migration after the first creates tables, indexes of tables that it creates, and columns that may
be NULL or have a default; none of it holds a lock for long. A foreign key or NOT NULL may be dropped, and
fill factors may change. An index of a large table is built CONCURRENTLY in PostgreSQL, by a migration of its
own that first drops what a broken attempt has left; SQLite has one process, which builds it at its start.
Rows and indexes of small tables, which no report waits for, may change too. Any other statement needs a line
`-- oldest: NNNN` with the migration's own number: older programs then refuse to start. Both dialects
say the same, unless one of them changes nothing in PostgreSQL.
"""

import re

from gate import files_in, run

SINCE = 2
SMALL = {"alert_rules", "change_numbers", "users"}  # few rows, and no report waits for them: a change takes no time
NAME = re.compile(r"^(\d{4})_[a-z0-9_]+(\.postgres)?\.sql$")
OLDEST = re.compile(r"^-- oldest: (\d{4})$", re.M)
TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE (\w+)")
INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX \w+\s+ON (\w+)")
COLUMN = re.compile(r"ALTER TABLE (\w+)\s+ADD COLUMN\s+\w+(.*)", re.S)
ROWS = re.compile(r"INSERT INTO (\w+)")
SET = re.compile(r"UPDATE (\w+) SET")
BESIDE = re.compile(r"(DROP|CREATE)(?: UNIQUE)? INDEX CONCURRENTLY (?:IF EXISTS )?(\w+)(?: ON |$)")
REFERENCE = re.compile(r"ALTER TABLE \w+ DROP CONSTRAINT (?:IF EXISTS )?\w+_fkey$")
ROOM = re.compile(r"ALTER TABLE \w+ SET \(fillfactor = \d+\)$")
LOOSER = re.compile(r"ALTER TABLE \w+ ALTER COLUMN \w+ DROP NOT NULL$")


def statements(text):
    bare = re.sub(r"--[^\n]*", "", text)
    return [" ".join(part.split()) for part in bare.split(";") if part.strip()]


def only_adds(statement, made):
    if any(harmless.match(statement) for harmless in (REFERENCE, LOOSER, ROOM)):
        return True
    if TABLE.match(statement):
        made.add(TABLE.match(statement).group(1))
        return True
    for pattern in (INDEX, ROWS, SET):
        if pattern.match(statement):
            return pattern.match(statement).group(1) in made | SMALL
    column = COLUMN.match(statement)
    if not column:
        return False
    rest = column.group(2)
    return "," not in rest and not re.search(
        r"\b(?:UNIQUE|REFERENCES|CHECK|GENERATED|PRIMARY)\b", rest
    ) and ("NOT NULL" not in rest or re.search(r"\bDEFAULT (?:-?\d+|'[^']*')", rest) is not None)  # fmt: skip


def built_beside(text):
    """The indexes of a migration that does nothing but build them beside their tables' writers."""
    found = [BESIDE.match(statement) for statement in statements(text)]
    if not found or not all(found) or len(found) % 2:
        return set()
    pairs = list(zip(found[::2], found[1::2]))
    good = all(
        (a.group(1), b.group(1)) == ("DROP", "CREATE") and a.group(2) == b.group(2)
        for a, b in pairs
    )
    return {b.group(2) for _, b in pairs} if good else set()


def for_sqlite_alone(path, text):
    """Does it make the indexes that its sibling makes in PostgreSQL beside the writers?"""
    sibling = path.with_name(path.name.replace(".sql", ".postgres.sql"))
    made = [re.match(r"CREATE INDEX (\w+)\s+ON ", statement) for statement in statements(text)]
    if not made or not all(made) or not sibling.exists():
        return False
    return {one.group(1) for one in made} == built_beside(sibling.read_text())


def gate(root):
    files, looked_at = files_in(root, ("migrations",), {".sql"}), 0
    problems = [] if files else ["migrations/: no files to look at"]
    for path in files:
        match = NAME.match(path.name)
        if not match or int(match.group(1)) < SINCE:
            continue
        looked_at += 1
        number, text = match.group(1), path.read_text()
        oldest, made = OLDEST.findall(text), set()
        if oldest and oldest != [number]:
            problems.append(f"migrations/{path.name}: oldest must be {number}, its own number")
        if match.group(2):
            first = path.with_name(path.name.replace(".postgres", ""))
            same = first.exists() and OLDEST.findall(first.read_text()) == oldest
            if not same and (oldest or statements(text)):
                problems.append(f"migrations/{path.name}: both dialects must say the same oldest")
        if built_beside(text) or (not match.group(2) and for_sqlite_alone(path, text)):
            continue
        for statement in statements(text):
            if not only_adds(statement, made) and not oldest:
                problems.append(
                    f"migrations/{path.name}: does more than add, so that nodes of the version before "
                    f"may fail or wait: '{statement[:60]}'; say -- oldest: {number}"
                )
    return problems, f"{looked_at} migrations since {SINCE:04}"


if __name__ == "__main__":
    run("migrations", gate)
