"""Running out of memory ends no process: what was admitted is finished, new requests get 503."""

import resource
from pathlib import Path

from conftest import running
from stored import of_tenant
from stored import stored as stored_rows
from test_confine import sanitized

MIB = 1 << 20


def size_of(process):
    """Its address space, in bytes."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * resource.getpagesize()


def post(tenant, n):
    """A batch of n runs of 4 kB each."""
    events = [tenant.event(message="x" * 4000) for _ in range(n)]
    return tenant.client.post("/api/v1/telemetry/batch", {"events": events})


def allow(process, more):
    """The process may grow by this much; None: without limit."""
    unlimited = resource.RLIM_INFINITY
    soft = unlimited if more is None else size_of(process) + more
    resource.prlimit(process.pid, resource.RLIMIT_AS, (soft, unlimited))


def test_what_was_admitted_is_finished_when_memory_runs_out(store, tmp_path):
    if sanitized():
        return  # it reserves terabytes
    with running(store, tmp_path, arguments=["--loops", "1"]) as server:
        tenant = server.add_tenant()
        before = size_of(server.process)
        allow(server.process, MIB)  # less than one batch takes
        statuses = [post(tenant, 900).status for _ in range(6)]
        assert set(statuses) <= {202, 503}, statuses
        assert statuses[0] == 202
        assert size_of(server.process) <= before + MIB
        allow(server.process, None)
        assert post(tenant, 2).status == 202
        runs = f"SELECT COUNT(*) AS n FROM runs WHERE {of_tenant(tenant)}"
        # nothing is half done
        assert stored_rows(server, runs)[0]["n"] == 900 * statuses.count(202) + 2
        tenant.client.close()
