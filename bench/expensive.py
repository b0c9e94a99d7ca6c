"""What the costliest legal requests of one tenant cost the writer, and another tenant's single events."""

import contextlib
import http.client
import json
import random
import re
import threading
import time
import uuid
from statistics import median

from common import Row
from servers import Muster, Postgres

REPEATS = 3  # of each request, when its cost is measured
RATE = 50  # events a second of the honest tenant, over one connection
TIMES_MAX = 5  # its p99 beside the others, against alone
NAMES = [f"name-{i}" for i in range(1000)]
OTHER = "costly"


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def base(**more):
    return {"agent_name": f"agent-{random.randrange(10)}", "client_id": OTHER,
            "run_id": str(uuid.uuid4()), "timestamp": stamp(), **more}  # fmt: skip


def registration():
    text = "d" * 100 + uuid.uuid4().hex  # so that it differs from the one before
    entries = [{"key": name, "label": text} for name in NAMES]
    return {"agent_name": f"agent-{random.randrange(10)}", "client_id": OTHER, "agent_version": text,
            "business_kpis": entries, "inputs": entries, "outputs": entries}  # fmt: skip


def failed_runs():
    events = [base(event="failed", event_id=str(uuid.uuid4()), error_message="e" * 1000)
              for _ in range(500)]  # fmt: skip
    return {"events": events}


def breakdowns():
    points = [{"a": f"value {i}", "value": random.random()} for i in range(400)]
    cells = [{"metric": f"m{i}", "by": ["a"], "points": points} for i in range(100)]
    return base(metrics={f"m{i}": random.random() for i in range(100)}, breakdowns=cells)


def usage():
    return base(model=f"model-{uuid.uuid4()}", input_tokens=1000, output_tokens=1000)


def rules():
    return {"run_failed": random.random() < 0.5, "run_stuck": True}


def document():
    return {"document": "x" * 1_000_000 + uuid.uuid4().hex}


REPORTS, ADMIN = "/api/v1/telemetry", f"/api/v1/tenants/{OTHER}"
KINDS = {
    "a registration with 1,000 each of KPIs, inputs, outputs": ("POST", "/api/v1/agents/register", registration),
    "a batch of 500 failed runs": ("POST", f"{REPORTS}/batch", failed_runs),
    "a business report with 100 breakdowns of 400 points": ("POST", f"{REPORTS}/business", breakdowns),
    "a report of LLM usage of a new model": ("POST", f"{REPORTS}/llm", usage),
    "alert rules": ("PUT", f"{ADMIN}/rules", rules),
    "a document of 1 MB": ("PUT", f"{ADMIN}/agents/agent-0/document", document),
}


class Caller:
    """Keys of the tenant that sends them: its own, and a token of an administrator."""

    def __init__(self, server):
        self.port = server.port
        server.admin("tenant", "add", OTHER, "--rate-limit", "1000000000")
        self.key = server.admin("key", "add", "--tenant", OTHER)
        server.admin("user", "add", "a@example.com", "--role", "platform_admin", "--password-stdin",
                     stdin="tumbling lantern\n")  # fmt: skip
        self.token = server.admin("token", "add", "bench", "--user", "a@example.com", "--role",
                                  "platform_admin", "--expires-in-days", "30")  # fmt: skip

    def send(self, connection, kind):
        method, path, body = KINDS[kind]
        token = self.token if path.startswith(ADMIN) else self.key
        connection.request(method, path, json.dumps(body()), {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)


def writer_ms(server):
    return 1000 * float(re.search(r"^muster_commit_seconds_sum (\S+)", server.metrics(), re.M)[1])


def cost_ms(server, caller, kind):
    """The median of what one takes the writer, with its sync, beside nothing else."""
    took = []
    with contextlib.closing(caller.connect()) as connection:
        for _ in range(REPEATS):
            before = writer_ms(server)
            status = caller.send(connection, kind)
            if status not in (200, 202):
                raise RuntimeError(f"{kind}: {status}")
            took.append(writer_ms(server) - before)
    return median(took)


@contextlib.contextmanager
def sending(caller):
    """All kinds at once, each from a thread of its own, again and again."""
    over = threading.Event()

    def repeat(kind):
        with contextlib.closing(caller.connect()) as connection:
            while not over.is_set():
                caller.send(connection, kind)

    threads = [threading.Thread(target=repeat, args=(kind,)) for kind in KINDS]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def measure(name, server, plan):
    caller = Caller(server)
    for kind in KINDS:
        yield Row(f"{name}: the writer's time of {kind}", cost_ms(server, caller, kind), "ms", "", True)
    honest = {"connections": 1, "rate": RATE, "seconds": plan.seconds}
    alone = [server.load(**honest, seed=2 * i)["p99_us"] / 1000 for i in range(plan.rounds)]
    with sending(caller):
        beside = [server.load(**honest, seed=2 * i + 1) for i in range(plan.rounds)]
    ours, theirs = median(one["p99_us"] / 1000 for one in beside), median(alone)
    yield Row(f"{name}: p99 of single events beside all of these against alone", ours, "ms",
              f"<= {TIMES_MAX}", ours <= TIMES_MAX * theirs, theirs, ours / theirs,
              {"alone": alone, "beside": beside})  # fmt: skip


def expensive(plan):
    with Muster() as server:
        yield from measure("SQLite", server, plan)
    with Postgres() as database, Muster(database=database.url) as server:
        yield from measure("PostgreSQL", server, plan)
