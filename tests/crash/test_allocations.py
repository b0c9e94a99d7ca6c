"""Out of memory is an answer: one allocation of each request fails, the first, the second, and so on,
whether the service asked for it or a library did. It answers as it should or refuses with 503, goes on,
stores nothing by halves and loses no memory.

ALLOCATION_STEP=23 fails each 23rd one only; 1, of scripts/crash, all of the first fifty, and of the
thousands that follow when an export opens its connection, one in fifty.
"""

import gzip
import json
import mmap
import os
import struct
import uuid

import pytest
from muster import BINARY, CHEAP_HASH, TEST_CLOCK
from people import PASSWORD, add_user
from stored import of_tenant, stored
from test_kill import new_server
from waiting import until

STEP = int(os.environ.get("ALLOCATION_STEP", "23"))
FAILING = BINARY.with_name("muster_test_alloc.so")
EVENTS = 20  # of a batch
# Allocations more after a sweep than before. Reads keep next to none, and have up to 280 failures; what
# is stored is remembered for a while, and users have sessions.
READ_KEPT_MAX, KEPT_MAX = 100, 400
READS = ("bad body", "list", "narrative", "breakdown", "usage", "export", "limits", "unknown path")
MOST = 30_000  # allocations of a request
IS_SANITIZED = b"__ubsan_" in BINARY.read_bytes() or b"__tsan_" in BINARY.read_bytes()
pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer has allocations of its own")


class Allocations:
    """Shared with the process (tests/hooks/alloc_preload.c): countdown, failed, live."""

    def __init__(self, folder):
        self.path = folder / "allocations"
        self.path.write_bytes(bytes(24))
        with self.path.open("r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 24)

    @property
    def environment(self):
        hooks = ":".join(str(hook) for hook in (FAILING, CHEAP_HASH, TEST_CLOCK))
        return {"MUSTER_TEST_ALLOC": str(self.path), "LD_PRELOAD": hooks}

    def fail(self, n):
        """The n-th from now on; 0: none."""
        self.shared[:8] = struct.pack("=q", n)

    @property
    def failed(self):
        return struct.unpack("=q", self.shared[8:16])[0]

    @property
    def live(self):
        return struct.unpack("=q", self.shared[16:24])[0]


def business(tenant, run):
    return {"agent_name": "collector", "run_id": run, "timestamp": "2025-01-02T03:04:05Z",
            "metrics": {"n": 1, "word": "yes"},
            "breakdowns": [{"metric": "m", "by": ["d"], "points": [{"d": "x", "value": 1}]}]}  # fmt: skip


def usage(run):
    return {"agent_name": "collector", "run_id": run, "timestamp": "2025-01-02T03:04:05Z",
            "model": "m", "input_tokens": 1, "output_tokens": 1}  # fmt: skip


def requests_of(tenant, email):
    """{name: a function of the attempt that makes (method, path, body, headers), and its status}."""
    telemetry = "/api/v1/telemetry"
    run, other = str(uuid.UUID(int=7)), str(uuid.UUID(int=1001))  # a long one, a short one

    def batch(i):
        events = [tenant.event(event_id=f"b{i}/{k}", run_id=str(uuid.UUID(int=1000 + i)), seq=k)
                  for k in range(EVENTS)]  # fmt: skip
        return {"events": events}

    def packed(i):
        return gzip.compress(json.dumps(batch(10**6 + i)).encode())

    coded = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return {
        "event": (lambda i: ("POST", telemetry, tenant.event(event_id=f"e{i}", run_id=run), {}), 202),
        "batch": (lambda i: ("POST", f"{telemetry}/batch", batch(i), {}), 202),
        "gzip": (lambda i: ("POST", f"{telemetry}/batch", packed(i), coded), 202),
        "business": (lambda i: ("POST", f"{telemetry}/business", business(tenant, run), {}), 202),
        "llm": (lambda i: ("POST", f"{telemetry}/llm", usage(run), {}), 202),
        "register": (lambda i: ("POST", "/api/v1/agents/register",
                                {"agent_name": "collector", "business_kpis": [{"key": "n"}]}, {}), 200),
        "bad body": (lambda i: ("POST", telemetry, {"event": 7, "no": "x" * 100}, {}), 422),
        "list": (lambda i: ("GET", tenant.path("dashboard/runs?limit=20&include_steps=true"), None,
                            {}), 200),
        "narrative": (lambda i: ("GET", tenant.path(f"runs/{run}/events?limit=50"), None, {}), 200),
        "breakdown": (lambda i: ("GET", tenant.path("business/breakdown?metric=m&by=d&time_range=all"),
                                 None, {}), 200),
        "usage": (lambda i: ("GET", tenant.path("llm/usage?time_range=all"), None, {}), 200),
        "export": (lambda i: ("GET", tenant.path(f"export/events?run_id={other}"), None, {}), 200),
        "limits": (lambda i: ("GET", "/api/v1/limits", None, {}), 200),
        "sign-in": (lambda i: ("POST", "/api/v1/auth/login",
                               {"email": email, "password": PASSWORD}, {}), 200),
        "unknown path": (lambda i: ("GET", "/api/v1/nothing", None, {}), 404),
    }  # fmt: skip


def attempt(server, tenant, request, fresh):
    """The status; None: the connection was closed instead, which a client treats as a 503."""
    method, path, body, headers = request
    client = server.client(tenant.token) if fresh else tenant.client
    try:
        return client.request(method, path, body, headers=headers).status
    except OSError:
        return None
    finally:
        if fresh:
            client.close()


def complaints(server):
    return [line for line in server.log().splitlines() if " info " not in line][-3:]


def settled(server, tenant, request):
    """The status, once what the failed request began has ended: a sign-in is one at a time, and after a
    connection to PostgreSQL that could not be made all requests are refused for a second."""
    status = attempt(server, tenant, request, fresh=False)
    return None if status in (429, 503) else status


def sweep(server, tenant, allocations, make, good):
    """Fails one allocation after the other until a request has none left; how many failed."""
    failures = 0
    n = 1
    while n < MOST:
        before = allocations.failed
        allocations.fail(n)
        status = attempt(server, tenant, make(n), fresh=n % 2 == 0)
        allocations.fail(0)
        failed = allocations.failed - before
        assert server.process.poll() is None, f"allocation {n}: it died\n{server.log()}"
        assert status in (good, 503, None), (n, status, complaints(server))
        assert status == good or failed, "refused although nothing failed"
        again = until(lambda n=n: settled(server, tenant, make(n)))
        assert again == good, (n, again, complaints(server))
        if not failed:
            return failures
        failures += 1
        n += max(STEP, n // 50)  # thousands read the schema, for an export's own connection
    raise AssertionError("it never ends")


def kept(tenant, table):
    sql = f"SELECT COUNT(*) AS n FROM {table} WHERE {of_tenant(tenant)}"
    return stored(tenant.server, sql)[0]["n"]


def check_events(tenant):
    """Batches are stored whole, and each once, however often they were sent."""
    sql = f"SELECT COUNT(*) AS n FROM events WHERE {of_tenant(tenant)} GROUP BY run_no"
    counts = [row["n"] for row in stored(tenant.server, sql)]
    assert len(counts) > 2 and sum(n != EVENTS for n in counts) == 1, counts  # that of single events


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_any_allocation_that_fails_is_answered(store, tmp_path, capsys):
    allocations = Allocations(tmp_path)
    with new_server(store, tmp_path, environment=allocations.environment) as server:
        tenant = server.add_tenant()
        kinds = requests_of(tenant, add_user(server, "--role", "platform_admin"))
        told = {}
        for name, (make, good) in kinds.items():
            for i in range(3):  # what is made once is made
                assert attempt(server, tenant, make(-1 - i), fresh=False) == good, name
            before = allocations.live
            failures = sweep(server, tenant, allocations, make, good)
            told[name] = (failures, allocations.live - before)
        with capsys.disabled():
            print(f"\n{store}: failures, and allocations kept: {told}")
        check_events(tenant)
        assert kept(tenant, "business_runs") == kept(tenant, "llm_usage") == 1
        assert server.cli("check")
        budgets = tenant.client.get("/api/v1/limits").json()["budgets"]
        assert all(row["tenant_used"] <= 1 for row in budgets), budgets
        assert min(failures for failures, _ in told.values()) > 0
        assert max(more for _, more in told.values()) <= KEPT_MAX, told
        assert max(told[name][1] for name in READS) <= READ_KEPT_MAX, told
        server.stop()  # which finds that everything was given back
        server.start()
