"""One key that rotates for ever costs no more with each rotation: rows, memory, work.

ROTATIONS raises the number (scripts/crash: 10,000). Ten rotations, then an hour passes.
"""

import os
from pathlib import Path

import pytest
from muster import Clock
from stored import of_tenant, stored
from test_kill import new_server

ROTATIONS = int(os.environ.get("ROTATIONS", "600"))
PER_HOUR = 10
KEPT = 101  # of a line: the first, and the newest hundred
ENDED_LATELY = 25 * PER_HOUR  # within the day for which a key that ended is not forgotten
READ_MAX = 3 * (KEPT + ENDED_LATELY)  # rows of keys that one rotation may read, wherever they are
GROWTH_MAX = 4 << 20


def memory(server):
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))


def processor_ticks(server):
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def rows_read(server):
    """Rows of keys that PostgreSQL has read so far."""
    if not server.database:
        return 0
    read = "COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0)"
    return stored(
        server, f"SELECT {read} AS n FROM pg_stat_user_tables WHERE relname = 'keys'"
    )[0]["n"]  # fmt: skip


def rotate(server, token, clock, times):
    for n in range(times):
        client = server.client(token)
        while (answer := client.post("/api/v1/agents/refresh-key")).status == 503:
            pass
        client.close()
        assert answer.status == 200, answer.body
        token = answer.json()["token"]
        if n % PER_HOUR == PER_HOUR - 1:
            clock.advance(3600)
    return token


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_key_that_rotates_for_ever_costs_no_more_each_time(store, tmp_path):
    clock, part = Clock(tmp_path), ROTATIONS // 5
    with new_server(store, tmp_path, environment=clock.environment) as server:
        tenant = server.add_tenant()
        first_ticks = -processor_ticks(server)
        token = rotate(server, tenant.token, clock, part)
        first_ticks += processor_ticks(server)
        before = memory(server)
        token = rotate(server, token, clock, ROTATIONS - 2 * part)
        read, last_ticks = -rows_read(server), -processor_ticks(server)
        rotate(server, token, clock, part)
        last_ticks += processor_ticks(server)
        read = (read + rows_read(server)) / part
        kept = stored(server, f"SELECT COUNT(*) AS n FROM keys WHERE {of_tenant(tenant)}")[0]["n"]
        grown = memory(server) - before
    print(f"{store}: {ROTATIONS} rotations, {kept} rows, {grown} bytes more, {read} rows read each,"
          f" {first_ticks} and {last_ticks} ticks of the processor for {part}")  # fmt: skip
    assert kept <= KEPT + ENDED_LATELY
    assert read <= READ_MAX
    assert grown <= GROWTH_MAX
    assert last_ticks <= 3 * max(first_ticks, 10)  # was 7 times after 6,000
