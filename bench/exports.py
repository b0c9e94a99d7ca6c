"""Exports: how fast, in how much memory, and what they cost those who report meanwhile."""

import os
import shlex
import signal
import subprocess
import time

from common import BATCH, Row, check_all_accepted, compared
from servers import Muster, Watch

EXPORTED = (
    "SELECT a.agent_name, r.run_id, COALESCE(e.event_id, LOWER(HEX(e.event_uuid)), '') AS event_id,"
    " e.event, e.timestamp, e.received_at, e.seq, e.agent_version, e.duration_ms, e.records_processed,"
    " e.error_type, e.error_message, e.workflow_run_id, e.message, e.level, e.category, e.source,"
    " e.metadata, e.metrics, e.links, e.output FROM events e JOIN runs r ON r.run_no = e.run_no"
    " JOIN agents a ON a.agent_id = e.agent_id ORDER BY e.event_no"
)


def timed_lines(command):
    """Lines a second of what a command prints."""
    began = time.monotonic()
    done = subprocess.run(f"{shlex.join(map(str, command))} | wc -l", shell=True, check=True,
                          stdout=subprocess.PIPE, text=True)  # fmt: skip
    return int(done.stdout) / (time.monotonic() - began), int(done.stdout)


def export(plan):
    store = plan.store()

    def ours(_):
        url = f"http://127.0.0.1:{server.port}/api/v1/tenants/bench/export/events?time_range=all"
        rate, n = timed_lines(["curl", "-sf", "-H", f"Authorization: Bearer {server.token}", url])
        if n != counted[0]:
            raise RuntimeError(f"{n} lines, but {counted[0]} rows")
        return rate

    def theirs(_):
        rate, n = timed_lines(["sqlite3", "-readonly", "-json", store.data / "muster.db", EXPORTED])
        counted[0] = n
        return rate

    counted = [0]
    with Muster(store.data) as server, Watch(server) as watch:
        yield compared(plan, "export of events against `sqlite3 -json`", "rows/s", 0.5,
                       ours, theirs)  # fmt: skip
    yield Row("memory during exports", watch.memory_mib, "MiB", "<= 96", watch.memory_mib <= 96)
    yield from export_beside_ingest(plan, store)


def rate(server, plan, **more):
    done = server.load(count=plan.events, **BATCH, **more)
    check_all_accepted(done)
    return done["events_per_s"]


def export_beside_ingest(plan, store):
    """Batches alone, and beside an export that goes on all the time."""

    def alone(i):
        return rate(server, plan, seed=200 + 2 * i, first=store.n + 10 * plan.events)

    def beside(i):
        command = ["curl", "-sf", "-o", "/dev/null", "-H", f"Authorization: Bearer {server.token}"]
        url = f"http://127.0.0.1:{server.port}/api/v1/tenants/bench/export/events?time_range=all"
        again = f"while {shlex.join([*command, url])}; do :; done"
        with subprocess.Popen(["sh", "-c", f"exec setsid sh -c {shlex.quote(again)}"]) as exports:
            try:
                return rate(server, plan, seed=201 + 2 * i, first=store.n + 20 * plan.events)
            finally:
                os.killpg(exports.pid, signal.SIGTERM)

    with Muster(store.data) as server:
        yield compared(plan, "batches of 500 beside an export against alone", "events/s", 0.4,
                       beside, alone)  # fmt: skip
