"""What is in the store, read past the service: for what no route gives back yet."""

import json
import sqlite3
import uuid

from postgres import run_sql


def stored(server, sql):
    """The rows of a SELECT as dictionaries. Numbers and texts are told apart, 1 and 1.0 too."""
    if server.database:
        rows = f"WITH r AS MATERIALIZED ({sql}) SELECT row_to_json(r) FROM r"
        return [json.loads(row) for (row,) in run_sql(server.database, rows)]
    connection = sqlite3.connect(f"file:{server.data}/muster.db?mode=ro", uri=True, timeout=120)
    try:
        connection.row_factory = sqlite3.Row
        connection.create_function("uuid_text", 1, lambda b: b and str(uuid.UUID(bytes=b)))
        return [dict(row) for row in connection.execute(sql)]
    finally:
        connection.close()


OF_FORM = ("metadata", "metrics")
OF_KIND = ("agent_version", "level", "category", "source")
OWN = ("tenant_id", "error_type", "error_message", "workflow_run_id", "message", "metadata", "metrics",
       "links", "output")  # fmt: skip


def _texts_of_postgres():
    texts = ", ".join(f"COALESCE(e.{c}, d.{c}) AS {c}" for c in OF_KIND)
    json_texts = ", ".join(
        f"CASE WHEN d.{c} IS NULL THEN e.{c} ELSE format(d.{c}, VARIADIC string_to_array(COALESCE(e.{c}, '')"
        f" || repeat(chr(31), 16), chr(31))) END AS {c}"
        for c in OF_FORM
    )
    own = ", ".join("e." + c for c in OWN if c not in OF_FORM)
    return (f"(SELECT {own}, {texts}, {json_texts},"
            " COALESCE(e.event_id, CAST(e.event_key AS TEXT), '') AS event_id FROM events e LEFT JOIN"
            " event_kinds d ON d.tenant_id = e.tenant_id AND d.kind_no = e.kind_no)")  # fmt: skip


def texts_of_events(server):
    """A table with the texts of events, for FROM: some of them are packed (migrations/0049 and 0051)."""
    if server.database:
        return _texts_of_postgres()
    texts = ", ".join(f"e.{c} || COALESCE(d.{c}, '') AS {c}" for c in OF_KIND)
    return (f"(SELECT {', '.join('e.' + c for c in OWN)}, {texts},"
            " e.event_id || COALESCE(uuid_text(e.packed_id), '') AS event_id"
            " FROM events e LEFT JOIN event_kinds d ON d.kind_no = e.kind_no)")  # fmt: skip


def change(server, sql):
    """One statement past a service that is stopped, for rows that would take requests by the thousand."""
    assert server.process is None
    if server.database:
        run_sql(server.database, sql)
        return
    connection = sqlite3.connect(server.data / "muster.db")
    try:
        with connection:
            connection.execute(sql)
    finally:
        connection.close()


def of_tenant(tenant):
    """A condition on tenant_id."""
    return f"tenant_id = (SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}')"
