"""The measure of OTLP: spans a second against as many events in batches of our own.

Both describe the same steps, and one client sends both: bodies that were written before.
"""

import contextlib
import functools
import http.client
import json
import sys
import threading
import time
import uuid

from common import BATCH, compared
from servers import ROOT, Muster, Postgres

sys.path.insert(0, str(ROOT / "tests" / "integration"))
import otlp  # noqa: E402

IN_RUN = 20
MOMENT = 1_750_000_000


def steps(first, n):
    """(run, number in it, attributes) of `n` steps after the first ones."""
    for i in range(first, first + n):
        run = uuid.uuid5(uuid.NAMESPACE_OID, f"run {i // IN_RUN}")
        yield run, i % IN_RUN, {"gen_ai.operation.name": "execute_tool", "tool": f"search {i % 7}",
                                "query": f"invoices of customer {i}", "page": str(i % 50),
                                "server.address": "crm.example.com"}  # fmt: skip


def spans_body(first, n):
    spans = [otlp.span(run.hex, number + 2, parent=1, start=number, end=number + 0.5,
                       name=f"look up customer {number}", attributes=attributes)
             for run, number, attributes in steps(first, n)]  # fmt: skip
    return otlp.Protobuf.spans(spans, {"service.name": "bench"})


def events_body(first, n):
    events = [{"event_id": f"bench:{run.hex}:{number:016x}:step", "agent_name": "bench",
               "client_id": "bench", "run_id": str(run), "event": "in_progress", "seq": 1,
               "timestamp": f"2025-06-15T15:06:{40 + number}Z", "duration_ms": 500,
               "message": f"look up customer {number}", "category": "execute_tool",
               "metadata": {"span_id": f"{number:016x}", "parent_span_id": f"{1:016x}",
                            "span_kind": "internal", "service.name": "bench", "scope": "bench"},
               "output": {"attributes": attributes}}
              for run, number, attributes in steps(first, n)]  # fmt: skip
    return json.dumps({"events": events}).encode()


def send(server, path, media, bodies):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": media}
    for body in bodies:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        told = answer.read()
        refused = answer.status == 200 and told or b'"rejected":0' not in told and told
        if answer.status not in (200, 202) or refused:
            raise RuntimeError(f"{path}: {answer.status} {told[:200]}")
    connection.close()


@functools.cache
def bodies_of(write, n):
    """Written once, for all rounds: that takes longer than a round."""
    return [write(first, BATCH["batch"]) for first in range(0, n, BATCH["batch"])]


def send_all(server, path, media, bodies):
    """Seconds that it took over all connections."""
    shares = [bodies[i :: BATCH["connections"]] for i in range(BATCH["connections"])]
    failures = []

    def run(share):
        try:
            send(server, path, media, share)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(share,)) for share in shares]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    if failures:
        raise RuntimeError(str(failures[0]))
    return took


def rate(n, with_postgres, path, media, write):
    bodies = bodies_of(write, n)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Postgres()).url if with_postgres else None
        server = stack.enter_context(Muster(database=database))
        return len(bodies) * BATCH["batch"] / send_all(server, path, media, bodies)


def measured(plan, name, n, with_postgres):
    return compared(
        plan, name, "spans/s", 0.7,
        lambda _: rate(n, with_postgres, "/v1/traces", "application/x-protobuf", spans_body),
        lambda _: rate(n, with_postgres, "/api/v1/telemetry/batch", "application/json", events_body),
    )  # fmt: skip


def spans(plan):
    name = "spans by OTLP against events in batches"
    yield measured(plan, f"{name}, SQLite", plan.events, False)
    yield measured(plan, f"{name}, PostgreSQL", plan.postgres_events, True)
