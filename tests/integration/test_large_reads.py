"""Answers that would be large: read in bounded memory, page by page, and never a failure."""

import uuid

import pytest
from conftest import running
from runs import pages, report
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


def a_run(tenant, n, size):
    """Events in another order than that of the narrative; two with each seq, one after the other."""
    run = str(uuid.uuid4())
    events = [tenant.event(run_id=run, seq=-(i // 2), message="m" * size,
                           event="in_progress" if i else "started") for i in range(n)]  # fmt: skip
    report(tenant, events, at_once=250)
    return run, [e["event_id"] for e in sorted(events, key=lambda e: e["seq"])]


@pytest.mark.parametrize("limit", [1, 7, 120, 10_000])
def test_a_narrative_is_read_page_by_page_without_gap_or_repeat(tenant, limit):
    run, ids = a_run(tenant, 120, 10)
    path = f"runs/{run}/events"
    got = list(pages(tenant, path, limit=limit))
    assert [e["event_id"] for page in got for e in page["events"]] == ids
    assert all(len(page["events"]) == limit for page in got[:-1])
    whole = tenant.client.get(tenant.path(path)).json()
    assert "next" not in whole  # as it was before there were pages
    assert [e for page in got for e in page["events"]] == whole["events"]
    assert all(page["run"] == whole["run"] for page in got)


def test_a_run_of_any_size_is_read_to_its_end(own_server):
    tenant = own_server.add_tenant()
    run, ids = a_run(tenant, 1500, 16_000)  # 24 MB
    small, _ = a_run(tenant, 3, 10)
    first = tenant.client.get(tenant.path(f"runs/{run}/events"))
    assert first.status == 200 and len(first.body) <= 16 * MIB
    assert len(first.body) > 15 * MIB and first.json()["next"]
    before = forget_peak(own_server)
    got = [e["event_id"] for page in pages(tenant, f"runs/{run}/events", limit=10_000)
           for e in page["events"]]  # fmt: skip
    assert got == ids
    # one run larger than a page: its steps are cut, with the way to the rest; the list goes on
    listed = list(pages(tenant, "dashboard/runs", include_steps="true"))
    assert [r["run_id"] for page in listed for r in page["runs"]] in ([small, run], [run, small])
    (large,) = [r for page in listed for r in page["runs"] if r["run_id"] == run]
    steps = [e["event_id"] for e in large["steps"]]
    assert steps == [i for i in ids if i in set(steps)] and len(steps) > 900
    rest = [e for page in pages(tenant, f"runs/{run}/events", cursor=large["steps_next"])
            for e in page["events"] if e["event"] == "in_progress"]  # fmt: skip
    assert len(steps) + len(rest) == 1499
    (other,) = [r for page in listed for r in page["runs"] if r["run_id"] == small]
    assert len(other["steps"]) == 2 and "steps_next" not in other
    assert peak_mib(own_server) - before < (SANITIZED_MIB if is_sanitized(own_server) else 128)


def test_a_page_of_runs_with_long_texts_ends_at_its_bytes(tenant):
    events = [tenant.event(event="failed", error_message="\x01" * 16_384) for _ in range(300)]
    report(tenant, events, at_once=40)  # each takes six times as much as JSON
    got = list(pages(tenant, "dashboard/runs", limit=1000))
    assert len(got) == 2 and len(got[0]["runs"]) > 150
    told = [run["run_id"] for page in got for run in page["runs"]]
    assert sorted(told) == sorted(e["run_id"] for e in events)
