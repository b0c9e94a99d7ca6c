"""A skewed data set: in every table one tenant has nearly all rows, and the others a few each.

It is made from the catalog of the database, so a new table has its rows without a line here. The
row `i` of a tenant has the same values in all tables, so that joins find partners.
"""

# Citus has the two in one part of each table, of four as of 32: what one asks must not read the other's rows.
LARGE, SMALL, OTHERS = 1, 15, 40
ROWS = {LARGE: 6000, SMALL: 5}
BASE_US = 1_700_000_000_000_000

# Begins a transaction without checks of references, on the workers of Citus as well: they take long.
UNCHECKED = (
    "BEGIN; SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL session_replication_role = replica"
)

TIMES = ("_at", "timestamp", "hour", "day", "_until", "since")
# What is rare among the rows of a service that has run for long.
MOSTLY = {"pending": "0", "open": "0", "deleted_at": "NULL", "revoked_at": "NULL",
          "next_at": "NULL"}  # fmt: skip


def value(name, kind, tenant="t", i="i"):
    """SQL of the column's value in row `i` of a tenant; NULL if most rows have none."""
    if name == "tenant_id":
        return f"{tenant}::bigint"
    if kind == "bytea":
        return f"decode(md5('{name}-' || {tenant} || '-' || {i}), 'hex')"
    if kind == "uuid":
        return f"md5('{name}-' || {tenant} || '-' || {i})::uuid"
    if kind in ("text", "character varying"):
        return f"'{name}-' || {tenant} || '-' || {i}"
    if kind in ("smallint", "integer", "boolean"):
        return {"boolean": "true"}.get(kind, "1")
    if kind == "double precision":
        return f"{i}::float"
    if name.endswith(TIMES):
        return f"{BASE_US} + {i}::bigint * 1000000"
    return f"{tenant}::bigint * 1000000 + {i}"


def _columns(psql):
    """Of each table with a tenant, those that are referenced first."""
    rows = psql(
        "SELECT c.table_name, c.column_name, c.data_type, c.is_nullable FROM"
        " information_schema.columns c JOIN information_schema.tables t USING (table_name)"
        " WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'"
        " AND EXISTS (SELECT 1 FROM information_schema.columns x WHERE"
        " x.table_name = c.table_name AND x.column_name = 'tenant_id')"
        " ORDER BY c.table_name, c.ordinal_position"
    )
    tables = {}
    for line in rows.splitlines():
        table, name, kind, nullable = line.split("|")
        tables.setdefault(table, []).append((name, kind, nullable == "YES"))
    first = ["tenants", "agents"]
    return {t: tables[t] for t in first + [t for t in sorted(tables) if t not in first]}


def fill(psql):
    """Returns the tables that are large now."""
    tables = _columns(psql)
    for table, columns in tables.items():
        names = ", ".join(f'"{name}"' for name, _, _ in columns)
        values = ", ".join(MOSTLY.get(n, value(n, k)) for n, k, _ in columns)
        rows = f"CASE t WHEN {LARGE} THEN {ROWS[LARGE]} ELSE {ROWS[SMALL]} END"
        rows = "1" if table == "tenants" else rows
        psql(
            f"{UNCHECKED}; INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {values}"
            f" FROM generate_series(1, {OTHERS}) t, generate_series(1, {rows}) i"
            " ON CONFLICT DO NOTHING; COMMIT"
        )
    counts = {t: int(psql(f"SELECT COUNT(*) FROM {t}")) for t in tables}
    return {table for table, n in counts.items() if n >= ROWS[LARGE]}
