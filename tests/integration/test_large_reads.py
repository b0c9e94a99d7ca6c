"""Answers that would be large: read in bounded memory, page by page, and never a failure."""

import uuid

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
