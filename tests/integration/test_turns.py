"""Tenants take turns at the writer: however much one of them sends, the others' events go on."""

import json
import threading
import uuid

import pytest
from conftest import running

EVENTS = "/api/v1/telemetry"
BATCHES = "/api/v1/telemetry/batch"
REGISTER = "/api/v1/agents/register"
CLIENTS = 16
PROBES = 40
SMALL_QUEUE = ("--queue-max-events", "2000", "--log-level", "error")


class Flood:
    """Clients of one tenant that send the same over and over, and count the answers."""

    def __init__(self, server, tenant, path, bodies):
        self.lock, self.over = threading.Lock(), threading.Event()
        self.busy = threading.Semaphore(0)  # one for each client that had an answer
        self.accepted = self.refused = 0
        self.threads = [
            threading.Thread(target=self.send, args=(server.client(tenant.token), path, body))
            for body in bodies
        ]

    def send(self, client, path, body):
        client.recorder = None
        first = True
        while not self.over.is_set():
            answer = client.post(path, body())
            assert answer.status in (200, 202, 503), answer.body
            assert answer.status != 503 or "Retry-After" in answer.headers
            with self.lock:
                self.accepted += answer.status != 503
                self.refused += answer.status == 503
            if first:
                self.busy.release()
            first = False
        client.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        for _ in self.threads:
            assert self.busy.acquire(timeout=120)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(120)


def registration(i):
    """As dear as a registration can be, and the writer's work again each time."""
    declared = [{"key": f"k{j}"} for j in range(1000)]
    body = {"agent_name": f"a{i}", "business_kpis": declared,
            "config_schema": {"params": declared}}  # fmt: skip
    text = json.dumps(body).encode()
    return lambda: text


def batch(tenant):
    """500 events of a new run, made from one text: the clients must be quick."""
    old = str(uuid.uuid4())
    events = [tenant.event(run_id=old, event_id=f"{old}/{i}") for i in range(500)]
    text = json.dumps({"events": events})
    return lambda: text.replace(old, str(uuid.uuid4())).encode()


@pytest.fixture
def small_queue(store, tmp_path):
    with running(store, tmp_path, arguments=SMALL_QUEUE) as started:
        yield started


def test_an_event_waits_for_few_of_another_tenants_dear_jobs(server):
    """Counted in jobs, not in seconds: in order of arrival it would wait for nearly all of them."""
    flooder, other = server.add_tenant(), server.add_tenant()
    waited = []
    bodies = [registration(i) for i in range(CLIENTS)]
    with Flood(server, flooder, REGISTER, bodies) as flood:
        for _ in range(PROBES):
            before = flood.accepted
            assert other.client.post(EVENTS, other.event()).status == 202
            waited.append(flood.accepted - before)
    assert sorted(waited)[PROBES // 2] <= CLIENTS // 3, waited


def test_a_tenant_that_fills_its_share_of_the_queue_leaves_room_for_others(small_queue):
    flooder, other = small_queue.add_tenant(), small_queue.add_tenant()
    answers = []
    with Flood(small_queue, flooder, BATCHES, [batch(flooder)] * CLIENTS) as flood:
        while flood.refused < 50 or len(answers) < PROBES:
            answers.append(other.client.post(EVENTS, other.event()).status)
    assert set(answers) == {202}
    assert flood.accepted > 0
