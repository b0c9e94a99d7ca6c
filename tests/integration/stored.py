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


TEXTS = ("tenant_id", "agent_version", "error_type", "error_message", "workflow_run_id", "message", "level",
         "category", "source", "metadata", "metrics", "links", "output")  # fmt: skip


def texts_of_events(server):
    """A table with the texts of events, for FROM: their ids as they were sent."""
    uuid_text = "CAST(event_uuid AS TEXT)" if server.database else "uuid_text(event_uuid)"
    return f"(SELECT {', '.join(TEXTS)}, COALESCE(event_id, {uuid_text}, '') AS event_id FROM events)"


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
