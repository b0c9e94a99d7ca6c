"""An honest tenant beside one that does all it may, and a stranger that does all they can.

MIX_SECONDS is how long (scripts/crash: ten minutes); without it there is no mix. The honest client is
a process of its own and compares with itself alone, before and after. The hostile ones are a process
that yields to the others: they stand for other machines, whose work costs this one nothing.

A job is one commit, a batch of 1,000 events too, and the embedded store has one writer. So an event may
have to wait for one job of another tenant; more than that, and three times what it takes alone, it must not.

A host may lend this machine's processors to others, for minutes. Requests that were under way while it did
so are served like all others, but their times say nothing and are left out.
"""

import bisect
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hostile import Field
from muster import Server
from people import tenant_person
from test_kill import new_server

SECONDS = float(os.environ.get("MIX_SECONDS", "0"))
ALONE_S = min(30.0, SECONDS)
DEAR = ("register", "replace maxima", "failed runs")  # each up to 10 ms of the writer
DEAR_S, DEAR_TIMES_MAX = 60.0, 5
WEBHOOKS = 100
CONTROL_S = 300.0  # of the negative control, at most
SAMPLES = 9
KEYS = 20  # of the hostile tenant; its rate limit is of each
ADMIN_TOKENS = 5  # of an admin of the hostile tenant
SHARE_MIN, TIMES_MAX = 0.99, 3
RSS_MAX, WAL_MAX = 256 << 20, 128 << 20
HOSTILE = Path(__file__).with_name("hostile.py")

STOLEN_MAX = 0.05  # of the processors, around a request whose time counts
AROUND_S = 0.5
OURS_MIN, ALONE_TRIES = 300, 10  # requests whose times count, and how often they are tried for

# A steady 20 events and 5 reads a second. Each row ends with when the request began and, then, all ticks of
# the processors and those of them that the host gave to others.
HONEST = """
import http.client, json, sys, time, uuid
from machine import used
host, port, slug, token, seconds = sys.argv[1:]
until, rows = time.monotonic() + float(seconds), []
connection = http.client.HTTPConnection(host, int(port), timeout=30)

def ask(kind, method, path, body=None):
    machine = (time.monotonic(), *used())
    began = time.perf_counter()
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        status = answer.status
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        status = type(error).__name__
    rows.append((kind, status, time.perf_counter() - began, *machine))

n = 0
while time.monotonic() < until:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    event = {"event_id": str(uuid.uuid4()), "agent_name": "honest", "client_id": slug,
             "run_id": str(uuid.uuid4()), "event": "completed", "timestamp": stamp}
    ask("event", "POST", "/api/v1/telemetry", json.dumps(event))
    if n % 4 == 0:
        ask("list", "GET", f"/api/v1/tenants/{slug}/dashboard/runs?limit=20")
    n += 1
    time.sleep(0.05)
print(json.dumps(rows))
"""


class Honest:
    def __init__(self, server, tenant, seconds):
        host, port = server.address
        self.process = subprocess.Popen(
            [sys.executable, "-c", HONEST, host, str(port), tenant.slug, tenant.token,
             str(seconds)],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        )  # fmt: skip

    def rows(self):
        said, _ = self.process.communicate()
        assert self.process.returncode == 0
        return json.loads(said)


def ours(rows):
    """The requests during which the machine was ours."""
    moments = [row[3] for row in rows]
    kept = []
    for row in rows:
        first = bisect.bisect_left(moments, row[3] - AROUND_S)
        last = min(bisect.bisect_left(moments, row[3] + row[2] + AROUND_S), len(rows) - 1)
        total, stolen = (rows[last][column] - rows[first][column] for column in (4, 5))
        if stolen <= STOLEN_MAX * total:
            kept.append(row)
    return kept


def alone_rows(server, honest):
    """What the honest client sees with nothing beside it, on a machine that is ours."""
    for _ in range(ALONE_TRIES):
        rows = Honest(server, honest, ALONE_S).rows()
        if len(ours(rows)) >= OURS_MIN:
            return rows
    raise AssertionError("the machine was taken away all the time: nothing can be measured on it")


def p99(rows, kind):
    took = [row[2] for row in ours(rows) if row[0] == kind]
    assert len(took) >= OURS_MIN / 10, "the machine was taken away most of the time"
    return statistics.quantiles(took, n=100)[98]


def alone(kind, before, after):
    return max(p99(before, kind), p99(after, kind))


def times_alone(before, beside, after):
    """By how much the p99 beside the others is longer than alone."""
    return {kind: p99(beside, kind) / alone(kind, before, after) for kind in ("event", "list")}


class Timed(Field):
    """Knows how long each of its requests took (s)."""

    def send(self, *request):
        began = time.perf_counter()
        status = super().send(*request)
        assert status in (200, 202), status
        self.durations.append(time.perf_counter() - began)
        return status

    def median(self, job):
        self.durations = []
        for _ in range(SAMPLES):
            job()
        return statistics.median(self.durations)


def longest_job(server, store, *names):
    """How long the longest of these jobs takes (s) with nothing beside it. PostgreSQL has two writers,
    and long jobs of one tenant have only one of them."""
    if store == "postgres":
        return 0
    tenant = server.add_tenant(rate_limit=1000)
    field = Timed(server.address, tenant.slug, [tenant.token], 0)
    return max(field.median(getattr(field, name)) for name in names)


def served(rows):
    return sum(row[1] in (200, 202) for row in rows) / len(rows)


class Watch(threading.Thread):
    """The most memory, threads and open files, and the largest write-ahead log, while it looks."""

    def __init__(self, server: Server):
        super().__init__(daemon=True)
        self.status = Path(f"/proc/{server.process.pid}/status")
        self.log = server.data / "muster.db-wal"
        self.files = self.status.with_name("fd")
        self.rss = self.wal = self.threads = self.fds = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.2):
            lines = self.status.read_text().splitlines()
            rss = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))
            self.rss = max(self.rss, rss)
            self.threads = max(self.threads, len(os.listdir(self.status.with_name("task"))))
            self.fds = max(self.fds, len(os.listdir(self.files)))
            if self.log.exists():
                self.wal = max(self.wal, self.log.stat().st_size)

    def end(self):
        self.over.set()
        self.join()


def attack(server, slug, tokens, seconds, attacks=()):
    host, port = server.address
    mix = subprocess.Popen(
        [sys.executable, str(HOSTILE), host, str(port), slug, str(seconds), *attacks],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    mix.stdin.write("\n".join(tokens))
    mix.stdin.close()
    return mix


def tokens_of_an_admin(tenant):
    person, made = tenant_person(tenant, "admin"), []
    for i in range(ADMIN_TOKENS):
        answer = person.post("/api/v1/auth/tokens", {"name": f"token {i}", "role": "admin"})
        assert answer.status == 201, answer.body
        made.append(answer.json()["token"])
    person.close()
    return made


def tokens_of_a_mix(hostile):
    return [hostile.token] + [hostile.add_key() for _ in range(KEYS)]


def watched_mix(server, honest, seconds, hostile=None, attacks=()):
    """What the honest client saw beside the mix, the outcomes of the attacks, and the watch."""
    hostile = hostile or server.add_tenant(rate_limit=100)
    tokens = tokens_of_a_mix(hostile)
    if not attacks:
        tokens += tokens_of_an_admin(hostile)
    watch = Watch(server)
    watch.start()
    mix = attack(server, hostile.slug, tokens, seconds, attacks)
    beside = Honest(server, honest, seconds).rows()
    counts = json.loads(mix.stdout.read())
    assert mix.wait() == 0
    watch.end()
    assert server.process.poll() is None, server.log()
    return beside, counts, watch


def memory_under_attack(server, seconds):
    """The most that the mix makes the server take, within that time; it ends when it is too much."""
    hostile = server.add_tenant(rate_limit=100)
    watch, until = Watch(server), time.monotonic() + seconds
    watch.start()
    tokens = tokens_of_a_mix(hostile) + tokens_of_an_admin(hostile)
    mix = attack(server, hostile.slug, tokens, seconds)
    while watch.rss <= RSS_MAX and mix.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    mix.kill()
    mix.wait()
    watch.end()
    return watch.rss


@pytest.mark.skipif(SECONDS == 0, reason="part of the long campaign, make crash")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_an_honest_tenant_is_served_beside_a_hostile_mix(store, tmp_path, capsys):
    with new_server(store, tmp_path) as server:
        honest = server.add_tenant()
        job = longest_job(server, store, "flood", "grow_run", "register", "replace_maxima")
        before = alone_rows(server, honest)
        beside, counts, watch = watched_mix(server, honest, SECONDS)
        after = alone_rows(server, honest)
    times = times_alone(before, beside, after)
    with capsys.disabled():
        print(f"\nbeside {json.dumps(counts, indent=1)}")
        print(
            f"{store}: served {served(beside):.4f}, p99 {times} times alone"
            f" ({[round(1000 * p99(rows, 'event'), 1) for rows in (before, beside, after)]} ms,"
            f" the longest job {1000 * job:.1f});"
            f" {watch.rss >> 20} MiB, log {watch.wal >> 20} MiB,"
            f" {watch.threads} threads, {watch.fds} files;"
            f" {len(ours(beside))} of {len(beside)} requests while the machine was ours"
        )
    assert all(sum(outcomes.values()) > 0 for outcomes in counts.values())
    assert served(beside) >= SHARE_MIN
    assert watch.rss <= RSS_MAX
    assert watch.wal <= WAL_MAX
    assert times["list"] <= TIMES_MAX, times
    assert p99(beside, "event") <= TIMES_MAX * alone("event", before, after) + job, times


def add_webhooks(server, tenant):
    """As many as there may be, each told of every failed run."""
    for i in range(WEBHOOKS):
        url = f"https://hooks.invalid/{i}"
        server.cli("webhook", "add", url, "--tenant", tenant.slug)
    rules = server.data / "rules.json"
    rules.write_text(json.dumps({"run_failed": True}))
    server.cli("rule", "set", str(rules), "--tenant", tenant.slug)


@pytest.mark.skipif(SECONDS == 0, reason="part of the long campaign, make crash")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_an_honest_tenant_waits_little_for_dear_jobs(store, tmp_path, capsys):
    """Jobs as dear as they can be, whose cost is bounded, and between which tenants take turns."""
    with new_server(store, tmp_path) as server:
        honest, hostile = server.add_tenant(), server.add_tenant(rate_limit=1000)
        add_webhooks(server, hostile)
        job = longest_job(server, store, "register", "replace_maxima")
        before = alone_rows(server, honest)
        beside, counts, _ = watched_mix(server, honest, min(SECONDS, DEAR_S), hostile, DEAR)
        after = alone_rows(server, honest)
    times = times_alone(before, beside, after)
    ms = [round(1000 * p99(rows, "event"), 1) for rows in (before, beside, after)]
    with capsys.disabled():
        print(f"\n{store}: dear jobs {counts}, p99 {times} times alone, of events {ms} ms,")
        print(f"the longest job {1000 * job:.1f} ms")
    assert all(counts[name].get("202", 0) + counts[name].get("200", 0) > 0 for name in DEAR)
    assert served(beside) >= SHARE_MIN
    assert p99(beside, "event") <= DEAR_TIMES_MAX * alone("event", before, after) + job, times


@pytest.mark.skipif(SECONDS == 0, reason="part of the long campaign, make crash")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_the_mix_is_noticed_where_replies_and_bodies_have_no_bounds(store, tmp_path):
    """The negative control: the same mix, and a server whose shares are as large as can be."""
    kinds = ("REPLY_MAX_BYTES", "INFLIGHT_MAX_BYTES")
    names = [f"MUSTER_{kind}{of}" for kind in kinds for of in ("", "_PER_TENANT")]
    with new_server(store, tmp_path, environment=dict.fromkeys(names, str(1 << 40))) as server:
        assert memory_under_attack(server, CONTROL_S) > RSS_MAX
