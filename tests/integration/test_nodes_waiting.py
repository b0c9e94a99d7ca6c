"""A PostgreSQL that hangs, or commits nothing: everyone is answered within the limit."""

import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import running
from nodes import in_threads
from postgres import run_sql
from stored import stored
from waiting import until

pytestmark = pytest.mark.one_server
LIMIT_S = 5
IMPATIENT = {"MUSTER_QUEUE_MAX_WAIT_MS": str(LIMIT_S * 1000), "PGCONNECT_TIMEOUT": "2"}
SLACK_S = 15  # of a machine that does other things too; without a limit it takes 40 in all


@pytest.fixture(name="node", scope="module")
def one_node(store, tmp_path_factory):
    if store != "postgres":
        pytest.skip("the embedded store waits for no one")
    with running(store, tmp_path_factory.mktemp("node"), environment=IMPATIENT) as server:
        yield server


def parent(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("PPid:")[1].split()[0])


def processes(node):
    """Those of the PostgreSQL server."""
    asked = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    master = parent(stored(node, asked)[0]["pid"])
    found = [master]
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and parent(folder.name) == master:
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


@contextmanager
def stopped(node):
    def send(number):
        for pid in pids:
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(pid, number)

    pids = processes(node)
    try:
        send(signal.SIGSTOP)
        yield
    finally:
        send(signal.SIGCONT)


def sql(node, statement):
    run_sql(node.database, statement)


@contextmanager
def without_commits(node):
    """No commit returns: it waits for a standby that is not there."""
    sql(node, "ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    sql(node, "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        sql(node, "ALTER SYSTEM RESET synchronous_standby_names")
        sql(node, "SELECT pg_reload_conf()")


def answered(node, tenant, requests):
    """The status and seconds of each of these, all sent at once."""
    seen = []

    def ask(method, path, body):
        began = time.monotonic()
        answer = node.client(tenant.token).request(method, path, body)
        seen.append((answer.status, time.monotonic() - began))

    in_threads([lambda r=r: ask(*r) for r in requests])
    return seen


def health(node):
    return node.client().get("/api/v1/health").status


def report(node, tenant):
    return node.client(tenant.token).post("/api/v1/telemetry", tenant.event()).status


def becomes_well(node, tenant):
    until(lambda: health(node) == 200)
    until(lambda: report(node, tenant) == 202)


def connections(node):
    """That the node has to its database."""
    asked = "SELECT count(*) AS n FROM pg_stat_activity" \
        " WHERE datname = current_database() AND application_name = 'muster'"  # fmt: skip
    return stored(node, asked)[0]["n"]


def test_a_node_has_as_many_connections_as_it_reads_at_once(node):
    """Two writers, the watcher, the courier and the listener; what it evaluates by itself may read
    beside a request. With one for each of the readers and the hasher it would have ten."""
    until(lambda: 5 <= connections(node) <= 6)  # those of commands end a moment after them
    tenant = node.add_tenant()
    for _ in range(10):
        assert node.client(tenant.token).get(tenant.path("dashboard/runs")).status == 200
    until(lambda: 6 <= connections(node) <= 7)


def test_a_database_that_hangs_keeps_no_request_waiting(node):
    tenant = node.add_tenant()
    assert report(node, tenant) == 202
    writes = [("POST", "/api/v1/telemetry", tenant.event()) for _ in range(12)]
    reads = [("GET", tenant.path("dashboard/runs"), None) for _ in range(12)]
    with stopped(node):
        seen = answered(node, tenant, writes + reads)
        later = answered(node, tenant, writes + reads)
        sick = health(node)
    assert {status for status, _ in seen + later} == {503}
    assert max(seconds for _, seconds in seen + later) < LIMIT_S + SLACK_S
    assert sick == 503
    becomes_well(node, tenant)


def test_commits_that_do_not_return_are_503_and_seen_by_health(node):
    tenant = node.add_tenant()
    assert report(node, tenant) == 202
    with without_commits(node):
        until(lambda: report(node, tenant) == 503)  # the server has read its settings
        writes = [("POST", "/api/v1/telemetry", tenant.event()) for _ in range(6)]
        seen = answered(node, tenant, writes)
        sick = health(node)
        reads = answered(node, tenant, [("GET", tenant.path("dashboard/runs"), None)])
    assert {status for status, _ in seen} == {503}
    assert max(seconds for _, seconds in seen) < LIMIT_S + SLACK_S
    assert sick == 503
    assert reads[0][0] == 200, "reads go on"
    becomes_well(node, tenant)
