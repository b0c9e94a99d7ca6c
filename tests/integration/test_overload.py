"""More than the server can store: 503 at once, what was accepted is kept, and it passes."""

import json
import subprocess
import sys
import threading
import time
import uuid

import pytest
from conftest import running
from muster import BINARY

BATCHES = "/api/v1/telemetry/batch"
EVENTS = 500  # in a batch
CLIENTS = 24
SECONDS = 4
BUSY = "The service is overloaded and stored nothing of this request; retry later"
LIMITS = (
    "--queue-max-events", "2000", "--queue-max-wait-ms", "200", "--inflight-max-bytes", "16777216",
    "--log-level", "error",
)  # fmt: skip
IS_SANITIZED = b"__ubsan_" in BINARY.read_bytes() or b"__tsan_" in BINARY.read_bytes()
SLOWER = 15 if IS_SANITIZED else 1  # two suites at once, and each call many times as long
HEALTH_MS = 1000 * SLOWER  # p99; cores are shared: it must not wait behind the flood
# A job that waits for long is told by health, and a sanitizer makes jobs wait for long.
HEALTH_STATUSES = {200, 503} if IS_SANITIZED else {200}
REFUSAL_MS = 1000 * SLOWER  # p95, seen by a client that shares the cores with all the others
RSS_MAX = (1024 if IS_SANITIZED else 192) << 20

# A process of its own: the clients' threads would make it wait for its turn among them.
HEALTH = """
import http.client, sys, time
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=120)
while True:
    began = time.perf_counter()
    connection.request("GET", "/api/v1/health")
    answer = connection.getresponse()
    answer.read()
    print(answer.status, (time.perf_counter() - began) * 1000, flush=True)
    time.sleep(0.005)
"""


class Health:
    """Asks for health over and over; stop() gives the statuses and the times in ms."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEALTH, str(server.address[1])],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.process.stdout.readline()  # it has begun

    def stop(self):
        self.process.terminate()
        rows = [line.split() for line in self.process.stdout.read().splitlines()]
        self.process.wait()
        whole = [row for row in rows if len(row) == 2]
        return {int(status) for status, _ in whole}, [float(ms) for _, ms in whole]


class Flood(threading.Thread):
    """Sends batches of its own runs, one after the other, without a pause."""

    def __init__(self, server, tenant, until):
        super().__init__(daemon=True)
        self.client, self.tenant, self.until = server.client(tenant.token), tenant, until
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
        while time.monotonic() < self.until:
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
    floods = [Flood(server, tenant, time.monotonic() + SECONDS) for _ in range(CLIENTS)]
    for one in floods:
        one.start()
    for one in floods:
        one.join(120)
        assert not one.is_alive()
    return [row for one in floods for row in one.sent]


def check_refusals(refused):
    assert {answer.json()["detail"] for _, answer, _ in refused} == {BUSY}
    waits = {int(answer.headers["Retry-After"]) for _, answer, _ in refused}
    assert waits <= {1, 2, 3, 4, 5}
    assert len(waits) > 1, "no jitter"


@pytest.fixture
def small_queue(store, tmp_path):
    with running(store, tmp_path, arguments=LIMITS) as server:
        yield server


def event_count(tenant, run_id):
    answer = tenant.client.get(tenant.path(f"runs/{run_id}/events"))
    return len(answer.json()["events"]) if answer.status == 200 else 0


def test_what_is_too_much_is_refused_at_once_and_the_rest_is_kept(small_queue, capsys):
    tenant = small_queue.add_tenant()
    health = Health(small_queue)
    sent = flood(small_queue, tenant)
    statuses, ms = health.stop()
    accepted = [row for row in sent if row[1].status == 202]
    refused = [row for row in sent if row[1].status == 503]
    quick, waits = percentile([row[2] for row in refused], 0.95), percentile(ms, 0.99)
    peak = rss(small_queue, "VmHWM")
    with capsys.disabled():
        print(
            f"\noverload: {len(accepted)} batches accepted, {len(refused)} refused within"
            f" {quick:.1f} ms (p95), health {waits:.1f} ms (p99 of {len(ms)}),"
            f" {peak >> 20} MiB at most"
        )
    assert len(accepted) + len(refused) == len(sent), {row[1].status for row in sent}
    assert len(accepted) > 20
    assert len(refused) > 20, "that was no overload"
    check_refusals(refused)
    assert statuses <= HEALTH_STATUSES and waits < HEALTH_MS, (statuses, waits)
    assert quick < REFUSAL_MS
    assert peak < RSS_MAX
    began = time.monotonic()
    assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
    assert time.monotonic() - began < 5 * SLOWER
    small_queue.kill()
    small_queue.start()
    tenant.client = small_queue.client(tenant.token)
    tenant.client.recorder = None
    for run_id, _, _ in accepted:
        assert event_count(tenant, run_id) == EVENTS, "accepted, and not kept whole"
    for run_id, _, _ in refused[:50]:
        assert event_count(tenant, run_id) == 0, "refused, and kept"
