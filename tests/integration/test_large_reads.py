"""Answers that would be large: read in bounded memory, page by page, and never a failure."""

import uuid

import pytest
from conftest import running
from test_export import open_export

MIB = 1 << 20
SANITIZED_MIB = 2000  # a sanitizer keeps freed memory


def peak_mib(server):
    """The most memory the process had since forget_peak()."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def forget_peak(server):
    with open(f"/proc/{server.process.pid}/clear_refs", "w") as refs:
        refs.write("5")
    return peak_mib(server)


def is_sanitized(server):
    return b"libasan" in server.binary.read_bytes() or b"__asan_init" in server.binary.read_bytes()


def test_a_breakdown_by_ten_thousand_sets_takes_little_memory(own_server):
    """One run has reported 2,000 sets: what is compared with what must not grow with its square."""
    tenant = own_server.add_tenant()
    runs = [str(uuid.uuid4())] * 20 + [str(uuid.uuid4()) for _ in range(80)]
    for n, run in enumerate(runs):
        sets = [{"metric": "m", "by": ["a", f"{n}-{i}-" + "d" * 240],
                 "points": [{"a": "x", f"{n}-{i}-" + "d" * 240: "y", "value": 1}]}
                for i in range(100)]  # fmt: skip
        report = {"agent_name": "seller", "run_id": run, "timestamp": f"2025-01-02T03:{n % 60:02}:05Z",
                  "breakdowns": sets}  # fmt: skip
        assert tenant.client.post("/api/v1/telemetry/business", report).status == 202
    before = forget_peak(own_server)
    answer = tenant.client.get(tenant.path("business/breakdown?metric=m&by=a&time_range=all"))
    assert answer.status == 200, answer.body
    told = answer.json()
    # of each run the first set by name counts, and no other
    assert told["rows"] == [{"dimensions": {"a": "x"}, "value": 81.0}]
    assert len(told["dimensions"]) == 10_001
    assert peak_mib(own_server) - before < (SANITIZED_MIB if is_sanitized(own_server) else 128)


def log_bytes(server):
    (log,) = server.data.glob("*-wal")
    return log.stat().st_size


@pytest.mark.parametrize("ceiling", [8 * MIB, 0])
def test_the_log_stays_below_its_ceiling_beside_a_stalled_export(store, tmp_path, ceiling):
    """Without a ceiling it is longer: so the ceiling is what holds."""
    if store != "sqlite":
        pytest.skip("the log is SQLite's")
    with running(store, tmp_path, arguments=["--wal-max-bytes", str(ceiling)]) as server:
        tenant = server.add_tenant()
        run, longest = str(uuid.uuid4()), 0
        for n in range(2):
            slices = {f"{i} " + "z" * 7000: i for i in range(1000)}
            report = {"agent_name": "a", "run_id": run, "timestamp": "2025-01-02T03:04:05Z",
                      "breakdowns": [{"metric": f"m{n}", "by": "d", "slices": slices}]}  # fmt: skip
            assert tenant.client.post("/api/v1/telemetry/business", report).status == 202
        stalled = open_export(tenant, "business")
        for _ in range(30):
            events = [tenant.event(message="m" * 16000) for _ in range(64)]
            assert tenant.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202
            assert tenant.client.get(tenant.path("dashboard/runs?limit=1")).status == 200
            longest = max(longest, log_bytes(server))
        assert not tenant.client.get(tenant.path("export/llm")).status == 200  # it still waits
        assert (longest <= 8 * MIB) == (ceiling > 0), longest
        stalled.close()
