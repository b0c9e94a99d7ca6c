"""Disks that fail or are full, databases that go away: 503, and nothing acknowledged is lost."""

import contextlib
import importlib.util
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time
import uuid
from collections import Counter
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from disk import RealDisk, small_disk
from muster import BINARY, ROOT, START_S, Embedded, Server
from otlp import Json, Protobuf, span
from postgres import run_sql
from strace import attached, injected
from waiting import PATIENCE_S, until

TELEMETRY = "/api/v1/telemetry"
SAME_THREADS = pytest.mark.same_threads
DRAINS = "finishing requests in progress"  # says one that has time to stop
STORAGE = "Storage is unavailable; this request may not be stored, so retry later"
LOW = "The service is low on disk space and stored nothing of this request; retry later"
STOP_MAX_S = 10  # after SIGTERM, says docs/OPERATIONS.md
PAGE_BYTES = 8192  # of PostgreSQL
FOR_EVER = "fdatasync:delay_enter=1000000000"  # in µs, and until strace goes


def check_503(answer):
    assert answer.status == 503
    assert answer.json()["detail"] in (STORAGE, LOW)
    assert 1 <= int(answer.headers["Retry-After"]) <= 5


def check_otlp_503(answer, encoding):
    """As the protocol says: a status in the encoding of the request, and when to come again."""
    assert (answer.status, answer.headers["Content-Type"]) == (503, encoding.media)
    code, message = encoding.status(answer)
    assert code == 14 and message in (STORAGE, LOW)  # UNAVAILABLE
    assert 1 <= int(answer.headers["Retry-After"]) <= 5


def send_spans(client, encoding, trace):
    body = encoding.spans([span(trace, 1), span(trace, 2, parent=1)], {"service.name": "traced"})
    return client.post("/v1/traces", body, headers={"Content-Type": encoding.media})


def stored(tenant, event):
    return tenant.client.get(tenant.path(f"runs/{event['run_id']}/events")).status == 200


def ask(client, event):
    """The answer, or None when the connection ended instead."""
    try:
        return client.post(TELEMETRY, event)
    except OSError:
        return None


def send(client, event):
    answer = ask(client, event)
    return answer and answer.status


def await_end(server):
    """The process ends by itself; its exit status."""
    status = server.process.wait(START_S)
    server.process.stdout.close()
    server.process = None
    server.check_log()
    return status


def await_health(server, status):
    client = server.client()
    until(lambda: client.get("/api/v1/health").status == status)
    client.close()


@contextlib.contextmanager
def serving(folder, *arguments):
    """A server on the embedded store; it may have ended or been stopped meanwhile."""
    if not (folder / "data").exists():
        Embedded().create_migrated(folder / "data")
    server = Server(folder / "data", arguments=arguments).start()
    try:
        yield server
    finally:
        if server.process is not None:
            server.process.kill()
            server.process.wait()


@pytest.fixture
def embedded(store, tmp_path):
    if store != "sqlite":
        pytest.skip("faults of the embedded database's own files")
    with serving(tmp_path) as server:
        yield server


@pytest.mark.parametrize("when", [1, *(pytest.param(when, marks=SAME_THREADS) for when in (2, 5))])
def test_a_failed_sync_is_a_503_and_the_end(embedded, when):
    tenant = embedded.add_tenant()
    events = [tenant.event() for _ in range(when + 3)]
    acked, refused = [], []
    with injected(embedded, f"fdatasync:error=EIO:when={when}") as lines:
        for event in events:
            answer = None
            with contextlib.suppress(OSError):
                answer = tenant.client.post(TELEMETRY, event)
            if answer is None or answer.status != 202:
                refused.append((event, answer))
                break
            acked.append(event)
        status = await_end(embedded)
    assert "INJECTED" in "".join(lines)
    assert len(acked) == when - 1
    check_503(refused[0][1])
    assert status not in (0, None)
    assert DRAINS not in embedded.log()
    embedded.start()
    tenant.client = embedded.client(tenant.token)
    assert all(stored(tenant, event) for event in acked)
    for event in events:
        assert tenant.client.post(TELEMETRY, event).status == 202  # in doubt: either word is true
        assert stored(tenant, event)
    embedded.stop()


@pytest.mark.same_threads
def test_spans_whose_commit_fails_are_503_and_can_be_sent_again(embedded):
    tenant, trace = embedded.add_tenant(), uuid.uuid4()
    with injected(embedded, "fdatasync:error=EIO:when=1"):
        check_otlp_503(send_spans(tenant.client, Protobuf, trace.hex), Protobuf)
        assert await_end(embedded) not in (0, None)
    embedded.start()
    tenant.client = embedded.client(tenant.token)
    for _ in range(2):  # in doubt, and then again
        assert send_spans(tenant.client, Protobuf, trace.hex).status == 200
    found = tenant.client.get(tenant.path(f"runs/{trace}/events")).json()
    assert (found["run"]["status"], len(found["events"])) == ("completed", 3)
    embedded.stop()


def test_a_failed_sync_fails_everybody_who_waits(embedded):
    tenant = embedded.add_tenant()
    clients = [embedded.client(tenant.token) for _ in range(16)]
    events = [tenant.event() for _ in clients]
    for client in clients:
        assert client.get("/api/v1/limits").status == 200
    statuses = [None] * len(clients)

    def run(i):
        statuses[i] = send(clients[i], events[i])

    with injected(embedded, "fdatasync:error=EIO"):
        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(clients))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert await_end(embedded) not in (0, None)
    assert set(statuses) <= {503, None}
    assert 503 in statuses
    embedded.start().stop()


@pytest.mark.same_threads
def test_a_new_data_directory_survives_a_power_cut(tmp_path):
    """Its name is in its parent, which is synced before the directory is used."""
    data = tmp_path / "data"
    (tmp_path / "file").write_text("not a backup")
    traced = subprocess.run(
        ["strace", "-y", "-e", "trace=mkdir,fsync,openat",
         BINARY, "restore", tmp_path / "file", "--data", data],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    calls = traced.stderr.splitlines()
    made = next(i for i, line in enumerate(calls) if f'mkdir("{data}"' in line)
    used = next(i for i, line in enumerate(calls) if f'"{data}/' in line)
    assert any("fsync(" in line and f"<{tmp_path}>" in line for line in calls[made:used])


def test_alerts_that_cannot_be_evaluated_do_not_stop_the_start(embedded):
    def rename(old, new):
        with contextlib.closing(sqlite3.connect(embedded.data / "muster.db")) as connection:
            connection.execute(f"ALTER TABLE {old} RENAME TO {new}")

    embedded.stop()
    rename("agent_signs", "hidden")
    embedded.start()
    assert "tick failed" in embedded.log()
    embedded.stop()
    rename("hidden", "agent_signs")
    embedded.start()


def await_hang(server):
    """Until health tells that a job waits."""

    def reason():
        answer = server.client().get("/api/v1/health")
        return answer.status == 503 and answer.json()["reason"]

    until(lambda: "waited" in (reason() or ""))


def test_a_disk_that_hangs_is_told_by_health(embedded):
    tenant = embedded.add_tenant()
    sender = threading.Thread(target=tenant.client.post, args=(TELEMETRY, tenant.event()))
    with injected(embedded, FOR_EVER):
        sender.start()
        await_hang(embedded)
    sender.join()
    await_health(embedded, 200)


# Not under TSan, which may report the threads that such an end leaves behind.
@pytest.mark.same_threads
def test_a_stop_ends_in_time_although_the_disk_hangs(embedded):
    """As users run it: other tests give a stop more time."""
    embedded.stop()
    embedded.environment["MUSTER_TEST_ALARM_TIMES"] = "1"
    tenant = embedded.start().add_tenant()
    sender = threading.Thread(target=ask, args=(tenant.client, tenant.event()))
    calls = ("-e", "trace=fdatasync,setitimer,exit_group", "-e", f"inject={FOR_EVER}")
    with attached(embedded, *calls, end=signal.SIGKILL) as lines:
        sender.start()
        await_hang(embedded)
        embedded.process.send_signal(signal.SIGTERM)
        until(lambda: any("exit_group(" in line for line in lines))  # strace holds what has ended
    assert await_end(embedded) == 0
    sender.join()
    (after_s,) = re.findall(r"setitimer\(.*?it_value=\{tv_sec=(\d+),", "".join(lines))
    assert 0 < int(after_s) < STOP_MAX_S
    stopping = embedded.log().rsplit(DRAINS, 1)[1]
    assert "connections closed early" not in stopping, "it ended in order: nothing hung"
    embedded.start().stop()


def test_a_full_disk_is_a_503_and_passes(embedded):
    tenant = embedded.add_tenant()
    before, during, after = tenant.event(), tenant.event(), tenant.event()
    assert tenant.client.post(TELEMETRY, before).status == 202
    with injected(embedded, "pwrite64:error=ENOSPC") as lines:
        for _ in range(3):
            check_503(tenant.client.post(TELEMETRY, during))
        health = tenant.client.get("/api/v1/health")
        assert (health.status, health.json()["status"]) == (503, "unavailable")
        assert "no space" in health.json()["reason"]
        assert tenant.client.get("/livez").status == 200
        assert stored(tenant, before)  # reads go on
    assert "INJECTED" in "".join(lines)
    assert not stored(tenant, during)
    answer = tenant.client.post(TELEMETRY, during)
    assert (answer.status, answer.json()["status"]) == (202, "accepted")
    assert tenant.client.post(TELEMETRY, after).status == 202
    embedded.restart()
    tenant.client = embedded.client(tenant.token)
    assert all(stored(tenant, event) for event in (before, during, after))
    embedded.stop()


@pytest.mark.parametrize(
    "when", [1, 2, 3, *(pytest.param(when, marks=SAME_THREADS) for when in range(4, 17))]
)
def test_whichever_write_finds_the_disk_full_nothing_is_lost(embedded, when):
    tenant = embedded.add_tenant()
    events, acked = [tenant.event() for _ in range(20)], []
    with injected(embedded, f"pwrite64:error=ENOSPC:when={when}") as lines:
        for event in events:
            answer = tenant.client.post(TELEMETRY, event)
            if answer.status != 202:
                check_503(answer)
                break
            acked.append(event)
    assert "INJECTED" in "".join(lines)
    assert len(acked) < len(events), "no write failed"
    assert not stored(tenant, event)
    assert all(stored(tenant, event) for event in acked)
    answer = tenant.client.post(TELEMETRY, event)
    assert (answer.status, answer.json()["status"]) == (202, "accepted")
    embedded.restart()
    tenant.client = embedded.client(tenant.token)
    assert all(stored(tenant, event) for event in [*acked, event])
    embedded.stop()


def load_with_postgres():
    path = str(ROOT / "tests/drivers/with_postgres")
    loader = SourceFileLoader("with_postgres", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Cluster:
    """A PostgreSQL of this test's own, which it may stop, crash and start again."""

    def __init__(self):
        self.server = load_with_postgres().Server()
        self.url = self.server.start()
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])

    def processes(self):
        main, found = self.server.process.pid, []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(path.read_text().rsplit(") ", 1)[1].split()[1]) == main:
                    found.append(int(path.parent.name))
        return [main, *found]

    def signal_all(self, number):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def crash(self):
        self.server.process.send_signal(signal.SIGQUIT)
        self.server.process.wait(START_S)

    def start_again(self):
        assert self.server.listen(self.port)

    def cut_connections(self):
        cut = ("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
               " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")  # fmt: skip
        subprocess.run(["psql", "-X", "-q", "-c", cut, self.url], check=True, capture_output=True, timeout=120)


@pytest.fixture
def cluster(store):
    if store != "postgres":
        pytest.skip("PostgreSQL's own faults")
    made = Cluster()
    yield made
    made.signal_all(signal.SIGCONT)
    made.server.stop()


@pytest.fixture
def on_cluster(cluster, tmp_path):
    server = Server(tmp_path / "data", cluster.url).start()
    yield server
    server.stop()


class Load:
    """Clients that send one event after another, with `fields`, until told to stop."""

    def __init__(self, server, tenant, clients=8, **fields):
        self.server, self.tenant, self.fields = server, tenant, fields
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.sent = []  # (event, status)
        self.refusals = []  # answers of 503
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self):
        client = self.server.client(self.tenant.token)
        while not self.stopping.is_set():
            event = self.tenant.event(**self.fields)
            answer = ask(client, event)
            with self.lock:
                self.sent.append((event, answer and answer.status))
                if answer and answer.status == 503:
                    self.refusals.append(answer)
        client.close()

    def count(self, status):
        with self.lock:
            return sum(1 for _, got in self.sent if got == status)

    def tally(self):
        with self.lock:
            return Counter(status for _, status in self.sent)

    def wait_for(self, status, n, seconds=PATIENCE_S):
        deadline = time.monotonic() + seconds
        while self.count(status) < n:
            assert self.server.process.poll() is None, f"it has ended:\n{self.server.log()}"
            assert time.monotonic() < deadline, f"{self.tally()}\n{self.server.log()}"
            self.stopping.wait(0.01)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(120)
            assert not thread.is_alive()


def run_here(folder, *command):
    """A command on the embedded store of a folder in which no server runs."""
    line = [BINARY, *command, "--data", folder / "data"]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


def check_load(load, tenant):
    """Only 202 and 503 were said, and what was acknowledged is there once."""
    assert {status for _, status in load.sent} <= {202, 503}
    for refusal in load.refusals:
        check_503(refusal)
    for event, status in load.sent:
        answer = tenant.client.get(tenant.path(f"runs/{event['run_id']}/events"))
        if status == 202:
            assert answer.status == 200, "acknowledged, and lost"
        assert answer.status == 404 or answer.json()["run"]["event_count"] == 1


def check_integrity(server):
    connection = sqlite3.connect(f"file:{server.data}/muster.db?mode=ro", uri=True)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


# With 2 MiB the log finds the disk full; with 20 the database file does, when the log is moved.
@pytest.mark.parametrize("free_mib", [2, 20])
def test_a_disk_that_fills_up_is_a_503_until_there_is_room(store, tmp_path, free_mib, capsys):
    if store != "sqlite":
        pytest.skip("faults of the embedded database's own files")
    no_floor = ("--min-free-bytes", "1")  # so that the disk itself is what refuses
    with (
        small_disk(tmp_path, free_mib << 20) as disk,
        serving(disk.folder, *no_floor) as server,
    ):
        tenant = server.add_tenant()
        before = tenant.event()
        assert tenant.client.post(TELEMETRY, before).status == 202
        disk.lay_ballast()
        load = Load(server, tenant, message="x" * 8000, metadata={"more": "y" * 50_000})
        with disk.filling(server):
            load.wait_for(503, 50)  # of all: a small one may still find a place
            assert stored(tenant, before)
            acked = load.count(202)
        load.wait_for(202, acked + 50)
        load.stop()
        check_load(load, tenant)
        server.restart()
        tenant.client = server.client(tenant.token)
        check_load(load, tenant)
        server.stop()
        check_integrity(server)
        with capsys.disabled():
            print(f"\nfull disk: {disk.way}; {load.count(202)} acked, {load.count(503)} refused")


# The index of the log is written as memory, and memory without a block ends a process by a signal.
def test_a_command_on_a_disk_of_few_blocks_works_or_says_that_it_is_full(store, tmp_path):
    if store != "sqlite":
        pytest.skip("faults of the embedded database's own files")
    ends = []
    with small_disk(tmp_path, 1 << 20) as disk:
        if not isinstance(disk, RealDisk):
            pytest.skip("needs blocks that are smaller than a page")
        Embedded().create_migrated(disk.folder / "data")
        for kib in range(0, 32, 2):
            disk.leave(kib << 10)
            ends.append(run_here(disk.folder, "tenant", "add", f"t{kib}"))
    assert {end.returncode for end in ends} == {0, 1}
    refused = [end.stderr for end in ends if end.returncode == 1]
    assert all("full" in text or "No space left" in text for text in refused)


def test_a_database_that_crashes_is_503_and_health_says_so(cluster, on_cluster):
    tenant = on_cluster.add_tenant()
    load = Load(on_cluster, tenant)
    load.wait_for(202, 100)
    cluster.crash()
    load.wait_for(503, 20)
    await_health(on_cluster, 503)
    answer = tenant.client.get("/api/v1/health")
    assert (answer.status, answer.json()["status"]) == (503, "unavailable")
    assert "database" in answer.json()["reason"]
    assert tenant.client.get("/livez").json() == {"status": "ok"}
    check_503(tenant.client.post(TELEMETRY, tenant.event()))
    for encoding in (Protobuf, Json):
        check_otlp_503(send_spans(tenant.client, encoding, uuid.uuid4().hex), encoding)
    before = load.count(202)
    cluster.start_again()
    load.wait_for(202, before + 100)
    load.stop()
    await_health(on_cluster, 200)
    check_load(load, tenant)


def test_a_database_that_stands_still_delays_and_loses_nothing(cluster, on_cluster):
    tenant = on_cluster.add_tenant()
    load = Load(on_cluster, tenant)
    for _ in range(3):
        before = load.count(202)
        load.wait_for(202, before + 50)
        cluster.signal_all(signal.SIGSTOP)
        before = load.count(202)
        load.stopping.wait(0.3)  # the pause itself
        assert load.count(202) <= before + len(load.threads)  # no answer before the commit
        cluster.signal_all(signal.SIGCONT)
    load.wait_for(202, load.count(202) + 50)
    load.stop()
    check_load(load, tenant)


def test_a_connection_that_is_cut_between_reports_fails_none(cluster, on_cluster):
    tenant = on_cluster.add_tenant()
    for _ in range(4):  # of which each writer gets some
        cluster.cut_connections()
        answers = [tenant.client.post(TELEMETRY, tenant.event()) for _ in range(4)]
        assert [answer.status for answer in answers] == [202] * 4, answers


def test_a_connection_that_is_cut_is_opened_again(cluster, on_cluster):
    tenant = on_cluster.add_tenant()
    load = Load(on_cluster, tenant)
    load.wait_for(202, 50)
    for _ in range(3):
        before = load.count(202)
        cluster.cut_connections()
        load.wait_for(202, before + 50)
    load.stop()
    check_load(load, tenant)
    await_health(on_cluster, 200)


def test_a_server_whose_database_is_away_does_not_start(cluster, on_cluster):
    cluster.crash()
    done = on_cluster.run("tenant", "list")
    assert done.returncode == 1
    assert done.stderr.startswith("muster: PostgreSQL: ")
    cluster.start_again()
    await_health(on_cluster, 200)
    assert on_cluster.run("tenant", "list").returncode == 0


def test_a_damaged_page_fails_those_who_need_it_and_nobody_else(cluster, on_cluster):
    """Also those whose reports share a transaction with theirs."""
    hit, other = on_cluster.add_tenant(), on_cluster.add_tenant()
    runs = [hit.event(event="completed", agent_name="a") for _ in range(300)]
    assert hit.client.post(f"{TELEMETRY}/batch", {"events": runs}).status == 202
    assert other.client.post(TELEMETRY, other.event()).status == 202
    on_cluster.stop()
    assert run_sql(cluster.url, "SELECT COUNT(DISTINCT tenant_id) FROM runs WHERE ctid < '(1,0)'") == [["1"]]
    ((path,),) = run_sql(cluster.url, "SELECT pg_relation_filepath('runs')")
    for plan in ("seqscan", "hashjoin", "mergejoin"):  # those of few rows, which read all pages
        run_sql(cluster.url, f"ALTER DATABASE postgres SET enable_{plan} = off")
    run_sql(cluster.url, "CHECKPOINT")  # the start after a crash writes nothing there
    cluster.crash()
    with (Path(cluster.server.data) / path).open("r+b") as table:
        table.seek(PAGE_BYTES // 2)  # of the first one, which is full
        table.write(b"\xff" * 100)
    cluster.start_again()
    on_cluster.start()
    clients = [on_cluster.client(tenant.token) for tenant in (hit, other)]
    met, loads = set(), [Load(on_cluster, other), Load(on_cluster, hit, event="started")]
    for run in runs:
        again = hit.event(event="in_progress", agent_name="a", run_id=run["run_id"])
        met.add(ask(clients[0], again).status)
        if met == {202, 503}:
            break
    for load in loads:
        load.wait_for(202, load.count(202) + 50)
        load.stop()
    assert met == {202, 503}
    assert set(loads[0].tally()) == {202}
    assert clients[1].get("/api/v1/health").status == 200
    assert b"invalid page" in on_cluster.stderr.read_bytes()
