"""The measures of reads: does a page stay as fast with millions of events as with few, and under
full ingest load?"""

import http.client
import itertools
import json
import shutil
import threading
import uuid
from statistics import median

from common import BATCH, Filled, Row, alternate
from servers import Muster, scratch

RUNS, STEPS = 200, 20  # the narratives that are read
FEWER = 100  # times: the store that a full one is held against
REQUESTS = 2000
MORE = 5  # times as many rounds: one takes half a second, and the machine may stall in any
SLOWER = 1.5  # times at most


def run_id(i):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"narrative {i}"))


def step(i, seq):
    kind = "started" if seq == 0 else "completed" if seq == STEPS - 1 else "in_progress"
    return {"event_id": f"narrative-{i}-{seq}", "agent_name": f"agent-{i % 20}",
            "client_id": "bench", "run_id": run_id(i), "event": kind, "seq": seq,
            "timestamp": f"2024-06-{1 + i % 28:02}T10:00:{seq:02}Z", "category": "posting",
            "message": f"Step {seq} of a narrative", "metadata": {"customer": f"c-{i}"}}  # fmt: skip


def tell_narratives(server):
    """Runs whose events lie apart in the store, as those of runs that take a while do."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for seq in range(STEPS):
        body = json.dumps({"events": [step(i, seq) for i in range(RUNS)]})
        connection.request("POST", "/api/v1/telemetry/batch", body,
                           {"Authorization": f"Bearer {server.token}"})  # fmt: skip
        answer = connection.getresponse()
        if answer.status != 202:
            raise RuntimeError(f"{answer.status}: {answer.read()}")
        answer.read()
        server.load(count=5000, seed=1000 + seq, first=seq * 5000, **BATCH)
    connection.close()


LIST = "/api/v1/tenants/bench/dashboard/runs?limit=50"
NARRATIVES = [f"/api/v1/tenants/bench/runs/{run_id(i)}/events" for i in range(RUNS)]


class Stores:
    """The full store and one with a hundredth of it, both served, both with the narratives."""

    def __init__(self, plan):
        self.many = plan.store()
        self.few_data = scratch()
        self.few = Filled(self.many.n // FEWER, self.few_data, starts=False)

    def __enter__(self):
        self.servers = [Muster(self.many.data), Muster(self.few_data)]
        for server in self.servers:
            server.__enter__()
            tell_narratives(server)
        return self.servers

    def __exit__(self, *_):
        for server in self.servers:
            server.__exit__()
        shutil.rmtree(self.few_data, ignore_errors=True)


def p99_ms(server, paths, requests=REQUESTS):
    done = server.get(paths, count=requests)
    if done["refused"]:
        raise RuntimeError(f"not every read was answered: {done}")
    return done["p99_us"] / 1000


def compared_p99(plan, what, paths, servers, slower=SLOWER):
    """A row: the p99 of reads on the first of two servers against the second."""
    many, few = servers
    mine, other, rounds = alternate(
        plan, lambda _: p99_ms(many, paths), lambda _: p99_ms(few, paths), MORE)  # fmt: skip
    return Row(f"p99 of {what}", mine, "ms", f"<= {slower}", mine <= slower * other, other,
               mine / other, rounds)  # fmt: skip


READS = {"runs list, limit 50": [LIST], "narrative of 20 events": NARRATIVES}


def reads(plan):
    with Stores(plan) as servers:
        sizes = f"{plan.store().n:,} events against {plan.store().n // FEWER:,}"
        for name, paths in READS.items():
            yield compared_p99(plan, f"{name}, {sizes}", paths, servers)


RATE = 500  # reads a second: some hundred open pages


class Reading(threading.Thread):
    """Reads at a fixed rate for a while, whatever else goes on."""

    def __init__(self, server, seconds):
        super().__init__()
        self.server, self.seconds, self.done = server, seconds, None

    def run(self):
        self.done = self.server.get([LIST, *NARRATIVES[:20]], count=10**9, seconds=self.seconds,
                                    rate=RATE)  # fmt: skip

    def p99_ms(self):
        if self.done["refused"]:
            raise RuntimeError(f"not every read was answered: {self.done}")
        return self.done["p99_us"] / 1000


def reads_under_load(plan):
    """Rounds of ingest alone and beside reads, one right after the other and either first, and of
    reads alone."""
    idle, busy, alone, beside = [], [], [], []
    seconds = max(plan.seconds // 2, 3)
    seeds = itertools.count(1)
    with Muster() as server:
        tell_narratives(server)

        def ingest():
            seed = next(seeds)
            done = server.load(seconds=seconds, seed=seed, first=seed * 10**7, **BATCH)
            return done["events_per_s"]

        def read(meanwhile):
            reading = Reading(server, seconds)
            reading.start()
            meanwhile()
            reading.join()
            return reading.p99_ms()

        steps = [lambda: alone.append(ingest()),
                 lambda: busy.append(read(lambda: beside.append(ingest())))]  # fmt: skip
        for i in range(2 * plan.rounds):
            for take in steps if i % 2 == 0 else reversed(steps):
                take()
            server.wait_for_rest()
            idle.append(read(lambda: None))
    mine, other = median(busy), median(idle)
    yield Row(f"p99 of {RATE} reads/s at full ingest load against idle", mine, "ms", "<= 3",
              mine <= 3 * other, other, mine / other, {"ours": busy, "theirs": idle})  # fmt: skip
    mine, other = median(beside), median(alone)
    yield Row(f"ingest beside {RATE} reads/s against alone", mine, "events/s", ">= 0.85",
              mine >= 0.85 * other, other, mine / other,
              {"ours": beside, "theirs": alone})  # fmt: skip
