"""An honest tenant beside one that does all it may, and a stranger that does all they can.

MIX_SECONDS is how long (scripts/crash: ten minutes); without it there is no mix. The honest client is a process of its own and
compares with itself alone, before and after.
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from muster import Server
from test_kill import new_server

SECONDS = float(os.environ.get("MIX_SECONDS", "0"))
ALONE_S = min(15.0, SECONDS)
KEYS = 20  # of the hostile tenant; its rate limit is of each
SHARE_MIN, TIMES_MAX = 0.99, 3
RSS_MAX, WAL_MAX = 256 << 20, 128 << 20
HOSTILE = Path(__file__).with_name("hostile.py")

# A steady 20 events a second, with a read and a look at health now and then.
HONEST = """
import http.client, json, sys, time, uuid
host, port, slug, token, seconds = sys.argv[1:]
until, rows = time.monotonic() + float(seconds), []
connection = http.client.HTTPConnection(host, int(port), timeout=30)

def ask(kind, method, path, body=None):
    began = time.perf_counter()
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        status = answer.status
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        status = type(error).__name__
    rows.append((kind, status, time.perf_counter() - began))

n = 0
while time.monotonic() < until:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    event = {"event_id": str(uuid.uuid4()), "agent_name": "honest", "client_id": slug,
             "run_id": str(uuid.uuid4()), "event": "completed", "timestamp": stamp}
    ask("event", "POST", "/api/v1/telemetry", json.dumps(event))
    if n % 20 == 0:
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
        )  # fmt: skip

    def rows(self):
        said, _ = self.process.communicate()
        assert self.process.returncode == 0
        return json.loads(said)


def p99(rows, kind):
    return statistics.quantiles([s for k, _, s in rows if k == kind], n=100)[98]


def served(rows):
    return sum(status in (200, 202) for _, status, _ in rows) / len(rows)


class Watch(threading.Thread):
    """The most memory, and the largest write-ahead log, while it looks."""

    def __init__(self, server: Server):
        super().__init__(daemon=True)
        self.status = Path(f"/proc/{server.process.pid}/status")
        self.log = server.data / "muster.db-wal"
        self.rss = self.wal = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.2):
            lines = self.status.read_text().splitlines()
            rss = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))
            self.rss = max(self.rss, rss)
            if self.log.exists():
                self.wal = max(self.wal, self.log.stat().st_size)


def attack(server, slug, tokens):
    host, port = server.address
    mix = subprocess.Popen(
        [sys.executable, str(HOSTILE), host, str(port), slug, str(SECONDS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    mix.stdin.write("\n".join(tokens))
    mix.stdin.close()
    return mix


@pytest.mark.skipif(SECONDS == 0, reason="part of the long campaign, make crash")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_an_honest_tenant_is_served_beside_a_hostile_mix(store, tmp_path, capsys):
    with new_server(store, tmp_path) as server:
        honest = server.add_tenant()
        hostile = server.add_tenant(rate_limit=100)
        tokens = [hostile.token] + [hostile.add_key() for _ in range(KEYS)]
        before = Honest(server, honest, ALONE_S).rows()
        watch = Watch(server)
        watch.start()
        mix = attack(server, hostile.slug, tokens)
        beside = Honest(server, honest, SECONDS).rows()
        counts = json.loads(mix.stdout.read())
        assert mix.wait() == 0
        watch.over.set()
        watch.join()
        after = Honest(server, honest, ALONE_S).rows()
        assert server.process.poll() is None, server.log()
    alone = {kind: max(p99(before, kind), p99(after, kind)) for kind in ("event", "list")}
    times = {kind: p99(beside, kind) / alone[kind] for kind in alone}
    with capsys.disabled():
        print(f"\nbeside {json.dumps(counts, indent=1)}")
        print(
            f"{store}: served {served(beside):.4f}, p99 {times} times alone, {alone} s;"
            f" {watch.rss >> 20} MiB, log {watch.wal >> 20} MiB"
        )
    assert all(sum(outcomes.values()) > 0 for outcomes in counts.values())
    assert served(beside) >= SHARE_MIN
    assert watch.rss <= RSS_MAX
    assert watch.wal <= WAL_MAX
    assert max(times.values()) <= TIMES_MAX, times
