"""More than the server can store: 503 at once, what was accepted is kept, and it passes."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest
from conftest import running
from muster import BINARY
from waiting import until

BATCHES = "/api/v1/telemetry/batch"
EVENTS = 500  # in a batch
CLIENTS = 24
SECONDS = 4
ENOUGH = 20  # answers of either kind, however long that takes
BUSY = "The service is overloaded and stored nothing of this request; retry later"
LIMITS = (
    "--queue-max-events", "2000", "--queue-max-wait-ms", "200", "--inflight-max-bytes", "16777216",
    "--log-level", "error",
)  # fmt: skip
IS_SANITIZED = b"__ubsan_" in BINARY.read_bytes() or b"__tsan_" in BINARY.read_bytes()
HEALTH_MS = 1000  # p99; cores are shared: it must not wait behind the flood
REFUSAL_MS = 1000  # p95, seen by a client that shares the cores with all the others
# When others have the processors, each call takes many times as long, and jobs wait for so long that
# health tells of it.
SLOWER = 15
OTHERS_MAX = 0.2  # of the processors, on a machine whose times mean something
AWAY_MAX_MS = 250  # at a time
TRIES = 1 if IS_SANITIZED else 3  # the times of a sanitized program are not judged
AGAIN_S = 5  # after a flood, until reports are accepted
RSS_MAX = (1024 if IS_SANITIZED else 192) << 20

# A process of its own: the clients' threads would make it wait for its turn among them. How long its
# pauses take tells for how long the machine did other things.
HEALTH = """
import http.client, sys, time
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=120)
while True:
    began = time.perf_counter()
    connection.request("GET", "/api/v1/health")
    answer = connection.getresponse()
    answer.read()
    ended = time.perf_counter()
    time.sleep(0.005)
    paused = time.perf_counter() - ended
    print(answer.status, (ended - began) * 1000, paused * 1000, flush=True)
"""


class Health:
    """Asks for health over and over; stop() gives the statuses, the times in ms, and those of the
    pauses between."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEALTH, str(server.address[1])],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.first = self.process.stdout.readline()  # it has begun

    def stop(self):
        self.process.terminate()
        rows = [line.split() for line in (self.first + self.process.stdout.read()).splitlines()]
        self.process.wait()
        statuses, ms, pauses = zip(*(row for row in rows if len(row) == 3), strict=True)
        return set(map(int, statuses)), list(map(float, ms)), list(map(float, pauses))


class Flood(threading.Thread):
    """Sends batches of its own runs, one after the other, without a pause."""

    def __init__(self, server, tenant, over):
        super().__init__(daemon=True)
        self.client, self.tenant, self.over = server.client(tenant.token), tenant, over
        self.client.recorder = None
        self.sent = []  # (run_id, answer, ms)

    def batch(self, run_id):
        events = [
            self.tenant.event(run_id=run_id, event_id=f"{run_id}/{i}", message="x" * 100)
            for i in range(EVENTS)
        ]
        return json.dumps({"events": events})

    def run(self):
        first = str(uuid.uuid4())
        text = self.batch(first)
        while not self.over.is_set():
            run_id = str(uuid.uuid4())
            body = text.replace(first, run_id).encode()
            began = time.perf_counter()
            answer = self.client.post(BATCHES, body)
            self.sent.append((run_id, answer, (time.perf_counter() - began) * 1000))
        self.client.close()


def percentile(values, share):
    return sorted(values)[int(len(values) * share)]


def rss(server, field):
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field))


def flood(server, tenant):
    """All clients for a while; what they sent."""
    over = threading.Event()
    floods = [Flood(server, tenant, over) for _ in range(CLIENTS)]

    def has_enough():
        said = Counter(answer.status for one in floods for _, answer, _ in one.sent)
        return min(said[202], said[503]) > ENOUGH

    for one in floods:
        one.start()
    time.sleep(SECONDS)
    try:
        until(has_enough)
    finally:
        over.set()
    for one in floods:
        one.join(120)
        assert not one.is_alive()
    return [row for one in floods for row in one.sent]


def our_ticks(has_database):
    """What this process, its children and, with a database, all processes of PostgreSQL have used, with
    those that have ended."""
    used, us = 0, os.getpid()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = path.read_text().rpartition(") ")
            fields = rest.split()
            is_ours = us in (int(path.parent.name), int(fields[1]))
            if is_ours or (has_database and name.endswith("(postgres")):
                used += sum(int(n) for n in fields[11:15])
    return used


class Processors:
    """What others, on this machine or beside it, have used since then."""

    def __init__(self, server):
        self.has_database = server.database is not None
        self.before = self.used()

    def used(self):
        """Seconds of all processors; those that were idle; ours."""
        with open("/proc/stat") as file:
            ticks = [int(n) for n in file.readline().split()[1:9]]
        per_s = os.sysconf("SC_CLK_TCK")
        return sum(ticks) / per_s, (ticks[3] + ticks[4]) / per_s, our_ticks(self.has_database) / per_s

    def share_of_others(self):
        total, idle, ours = (b - a for a, b in zip(self.before, self.used(), strict=True))
        return max(0.0, (total - idle - ours) / total) if total > 0 else 0.0  # it took less than a tick


def is_ours(others, away_ms):
    return others < OTHERS_MAX and away_ms < AWAY_MAX_MS


class Measured:
    """One flood: what was sent, and how long others waited meanwhile."""

    def __init__(self, server, tenant):
        health, processors = Health(server), Processors(server)
        self.sent = flood(server, tenant)
        self.others = processors.share_of_others()
        self.statuses, self.ms, pauses = health.stop()
        self.away = max(pauses)  # the machine, at most, at a time
        self.refused = [row for row in self.sent if row[1].status == 503]
        self.quick = percentile([row[2] for row in self.refused], 0.95)
        self.waits = percentile(self.ms, 0.99)

    def machine_is_ours(self):
        return not IS_SANITIZED and is_ours(self.others, self.away)

    def holds(self, slower=1):
        statuses = {200} if slower == 1 else {200, 503}
        return (self.statuses <= statuses and self.waits < HEALTH_MS * slower
                and self.quick < REFUSAL_MS * slower)  # fmt: skip

    def __str__(self):
        return (
            f"{len(self.sent) - len(self.refused)} batches accepted, {len(self.refused)} refused within"
            f" {self.quick:.1f} ms (p95), health {self.waits:.1f} ms (p99 of {len(self.ms)}),"
            f" {self.statuses}; others had {self.others:.0%}, and all for {self.away:.0f} ms at a time"
        )


def measure(server, tenant):
    """Again while the machine is not ours and the times do not hold."""
    tried = []
    while not tried or (
        len(tried) < TRIES and not tried[-1].holds() and not tried[-1].machine_is_ours()
    ):
        tried.append(Measured(server, tenant))
    return tried


def check_refusals(refused):
    assert {answer.json()["detail"] for _, answer, _ in refused} == {BUSY}
    waits = {int(answer.headers["Retry-After"]) for _, answer, _ in refused}
    assert waits <= {1, 2, 3, 4, 5}
    assert len(waits) > 1, "no jitter"


def check_recovery(server, tenant, soon):
    """Reports are accepted again; `soon`, unless the machine was taken away meanwhile."""
    health, processors, began = Health(server), Processors(server), time.monotonic()
    until(lambda: tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202)
    took, others = time.monotonic() - began, processors.share_of_others()
    _, _, pauses = health.stop()
    assert not soon or took < AGAIN_S or not is_ours(others, max(pauses)), f"after {took:.1f} s"


@pytest.fixture
def small_queue(store, tmp_path):
    with running(store, tmp_path, arguments=LIMITS) as server:
        yield server


def event_count(tenant, run_id):
    """A busy service may answer 503, which says nothing of what is stored."""
    url = tenant.path(f"runs/{run_id}/events")
    answer = until(lambda: (answer := tenant.client.get(url)).status != 503 and answer)
    assert answer.status in (200, 404), answer
    return len(answer.json()["events"]) if answer.status == 200 else 0


def test_what_is_too_much_is_refused_at_once_and_the_rest_is_kept(small_queue, capsys):
    tenant = small_queue.add_tenant()
    tried = measure(small_queue, tenant)
    last, sent = tried[-1], [row for one in tried for row in one.sent]
    accepted = [row for row in sent if row[1].status == 202]
    refused = [row for row in sent if row[1].status == 503]
    peak = rss(small_queue, "VmHWM")
    with capsys.disabled():
        print(*(f"\noverload: {one}" for one in tried), f"; {peak >> 20} MiB at most")
    assert len(accepted) + len(refused) == len(sent), {row[1].status for row in sent}
    assert {answer.json()["accepted"] for _, answer, _ in accepted} == {EVENTS}
    check_refusals(refused)
    if not IS_SANITIZED:
        assert last.holds(1 if last.machine_is_ours() else SLOWER), str(last)
    assert peak < RSS_MAX
    check_recovery(small_queue, tenant, soon=last.machine_is_ours())
    small_queue.kill()
    small_queue.start()
    tenant.client = small_queue.client(tenant.token)
    tenant.client.recorder = None
    for run_id, _, _ in accepted:
        assert event_count(tenant, run_id) == EVENTS, "accepted, and not kept whole"
    for run_id, _, _ in refused[:50]:
        assert event_count(tenant, run_id) == 0, "refused, and kept"
